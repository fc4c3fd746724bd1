// Flies an aircraft in ten steps of logical time, and prints where the others are.
// Arguments: the name of the federate, and the server's address.
import hla.rti1516_2025.*;
import hla.rti1516_2025.encoding.*;
import hla.rti1516_2025.exceptions.*;
import hla.rti1516_2025.time.*;

import java.io.File;
import java.util.function.BooleanSupplier;

public class Stepper extends NullFederateAmbassador {
   private final RTIambassador rti = RtiFactoryFactory.getRtiFactory().getRtiAmbassador();
   private final EncoderFactory encoders = RtiFactoryFactory.getRtiFactory().getEncoderFactory();
   private AttributeHandle position;
   private HLAfloat64Time now;
   private boolean regulating;
   private boolean constrained;
   private boolean granted;

   private Stepper() throws RTIexception {}

   @Override
   public void timeRegulationEnabled(LogicalTime<?, ?> time) {
      now = (HLAfloat64Time) time;
      regulating = true;
   }

   @Override
   public void timeConstrainedEnabled(LogicalTime<?, ?> time) {
      now = (HLAfloat64Time) time;
      constrained = true;
   }

   @Override
   public void timeAdvanceGrant(LogicalTime<?, ?> time) {
      now = (HLAfloat64Time) time;
      granted = true;
   }

   @Override
   public void reflectAttributeValues(ObjectInstanceHandle instance, AttributeHandleValueMap values,
         byte[] tag, TransportationTypeHandle transport, FederateHandle producer, RegionHandleSet regions,
         LogicalTime<?, ?> time, OrderType sent, OrderType received, MessageRetractionHandle retraction) {
      HLAfixedRecord there = positionOf(0.0, 0.0, 0.0);
      try {
         there.decode(values.get(position));
      } catch (DecoderException error) {
         System.err.println(error.getMessage());
      }
      double altitude = ((HLAfloat64BE) there.get(2)).getValue();
      System.out.printf("at %.0f: %.0f m%n", ((HLAfloat64Time) time).getValue(), altitude);
   }

   /** A position as the object model encodes it. */
   private HLAfixedRecord positionOf(double latitude, double longitude, double altitude) {
      HLAfixedRecord record = encoders.createHLAfixedRecord();
      record.add(encoders.createHLAfloat64BE(latitude));
      record.add(encoders.createHLAfloat64BE(longitude));
      record.add(encoders.createHLAfloat64BE(altitude));
      return record;
   }

   /** Lets callbacks come, on this thread, until one of them has happened. */
   private void waitFor(BooleanSupplier done) throws RTIexception {
      while (!done.getAsBoolean()) {
         rti.evokeMultipleCallbacks(0.1, 1.0);
      }
   }

   private void run(String name, String address) throws Exception {
      rti.connect(this, CallbackModel.HLA_EVOKED,
            RtiConfiguration.createConfiguration().withRtiAddress(address));
      try {
         String model = new File("aircraft.xml").toURI().toURL().toString();
         rti.createFederationExecution("Steps", model, "HLAfloat64Time");
      } catch (FederationExecutionAlreadyExists exists) {
         // Somebody was faster.
      }
      rti.joinFederationExecution(name, "Stepper", "Steps");
      ObjectClassHandle aircraft = rti.getObjectClassHandle("Aircraft");
      position = rti.getAttributeHandle(aircraft, "Position");
      AttributeHandleSet attributes = rti.getAttributeHandleSetFactory().create();
      attributes.add(position);
      rti.publishObjectClassAttributes(aircraft, attributes);
      rti.subscribeObjectClassAttributes(aircraft, attributes);
      ObjectInstanceHandle own = rti.registerObjectInstance(aircraft);
      // The object model says receive order.
      rti.changeAttributeOrderType(own, attributes, OrderType.TIMESTAMP);

      HLAfloat64TimeFactory times = (HLAfloat64TimeFactory) rti.getTimeFactory();
      HLAfloat64Interval step = times.makeInterval(1.0);
      rti.enableTimeConstrained();
      waitFor(() -> constrained);
      rti.enableTimeRegulation(step);
      waitFor(() -> regulating);
      while (now.getValue() < 10.0) {
         HLAfloat64Time next = now.add(step);
         AttributeHandleValueMap values = rti.getAttributeHandleValueMapFactory().create(1);
         values.put(position, positionOf(48.35, 11.78, 100.0 * next.getValue()).toByteArray());
         rti.updateAttributeValues(own, values, new byte[0], next);
         granted = false;
         rti.timeAdvanceRequest(next);
         waitFor(() -> granted);
      }
      rti.resignFederationExecution(ResignAction.DELETE_OBJECTS_THEN_DIVEST);
      rti.disconnect();
   }

   public static void main(String[] arguments) throws Exception {
      String name = arguments.length > 0 ? arguments[0] : "Stepper";
      String address = arguments.length > 1 ? arguments[1] : "localhost:15164";
      new Stepper().run(name, address);
   }
}
