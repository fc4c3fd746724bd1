// Prints where aircraft are, until the first of them is gone. The server's address is the argument.
import hla.rti1516_2025.*;
import hla.rti1516_2025.encoding.*;
import hla.rti1516_2025.exceptions.*;

import java.io.File;
import java.util.concurrent.CountDownLatch;

public class Observer extends NullFederateAmbassador {
   private final CountDownLatch gone = new CountDownLatch(1);
   private final EncoderFactory encoders = RtiFactoryFactory.getRtiFactory().getEncoderFactory();
   private volatile AttributeHandle position;

   private Observer() throws RTIexception {}

   @Override
   public void discoverObjectInstance(ObjectInstanceHandle instance, ObjectClassHandle type, String name,
         FederateHandle producer) {
      System.out.println("new: " + name);
   }

   @Override
   public void reflectAttributeValues(ObjectInstanceHandle instance, AttributeHandleValueMap values,
         byte[] tag, TransportationTypeHandle transport, FederateHandle producer, RegionHandleSet regions) {
      HLAfloat64BE[] fields = new HLAfloat64BE[3];
      HLAfixedRecord record = encoders.createHLAfixedRecord();
      for (int i = 0; i < fields.length; i++) {
         fields[i] = encoders.createHLAfloat64BE();
         record.add(fields[i]);
      }
      try {
         record.decode(values.get(position));
      } catch (DecoderException error) {
         System.err.println(error.getMessage());
      }
      System.out.printf("%.2f %.2f, %.0f m%n", fields[0].getValue(), fields[1].getValue(), fields[2].getValue());
   }

   @Override
   public void removeObjectInstance(ObjectInstanceHandle instance, byte[] tag, FederateHandle producer) {
      gone.countDown();
   }

   public static void main(String[] arguments) throws Exception {
      String address = arguments.length > 0 ? arguments[0] : "localhost:15164";
      Observer observer = new Observer();
      RTIambassador rti = RtiFactoryFactory.getRtiFactory().getRtiAmbassador();
      rti.connect(observer, CallbackModel.HLA_IMMEDIATE,
            RtiConfiguration.createConfiguration().withRtiAddress(address));
      try {
         rti.createFederationExecution("Range", new File("aircraft.xml").toURI().toURL().toString());
      } catch (FederationExecutionAlreadyExists exists) {
         // Somebody was faster.
      }
      rti.joinFederationExecution("Observer", "Range");
      ObjectClassHandle aircraft = rti.getObjectClassHandle("Aircraft");
      observer.position = rti.getAttributeHandle(aircraft, "Position");
      AttributeHandleSet attributes = rti.getAttributeHandleSetFactory().create();
      attributes.add(observer.position);
      rti.subscribeObjectClassAttributes(aircraft, attributes);
      observer.gone.await();
      rti.resignFederationExecution(ResignAction.NO_ACTION);
      rti.disconnect();
   }
}
