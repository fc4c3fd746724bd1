// Flies an aircraft in ten steps of logical time, and prints where the others are.
// Arguments: the name of the federate, and the server's address.
#include <RTI/RTI1516.h>
#include <RTI/NullFederateAmbassador.h>
#include <RTI/encoding/BasicDataElements.h>
#include <RTI/encoding/HLAfixedRecord.h>
#include <RTI/time/HLAfloat64Interval.h>
#include <RTI/time/HLAfloat64Time.h>

#include <iostream>

using namespace rti1516_2025;

/// A position as the object model encodes it.
struct Position {
  HLAfloat64BE latitude, longitude, altitude;
  HLAfixedRecord record;

  Position() {
    record.appendElementPointer(&latitude);
    record.appendElementPointer(&longitude);
    record.appendElementPointer(&altitude);
  }
};

class Stepper : public NullFederateAmbassador {
 public:
  AttributeHandle position;
  HLAfloat64Time now;
  bool regulating = false, constrained = false, granted = false;

  void timeRegulationEnabled(LogicalTime const& time) override {
    now = time;
    regulating = true;
  }

  void timeConstrainedEnabled(LogicalTime const& time) override {
    now = time;
    constrained = true;
  }

  void timeAdvanceGrant(LogicalTime const& time) override {
    now = time;
    granted = true;
  }

  void reflectAttributeValues(ObjectInstanceHandle const&, AttributeHandleValueMap const& values,
                              VariableLengthData const&, TransportationTypeHandle const&,
                              FederateHandle const&, RegionHandleSet const*, LogicalTime const& time,
                              OrderType, OrderType, MessageRetractionHandle const*) override {
    Position there;
    there.record.decode(values.at(position));
    std::wcout << L"at " << HLAfloat64Time(time).getTime() << L": " << there.altitude.get() << L" m" << std::endl;
  }
};

int main(int argc, char* argv[]) {
  std::string name = argc > 1 ? argv[1] : "Stepper";
  std::string address = argc > 2 ? argv[2] : "localhost:15164";
  try {
    Stepper stepper;
    auto rti = RTIambassadorFactory().createRTIambassador();
    auto settings = RtiConfiguration::createConfiguration().withRtiAddress({address.begin(), address.end()});
    // The callbacks come on this thread, while it waits for them.
    rti->connect(stepper, HLA_EVOKED, settings);
    auto wait_for = [&rti](bool& done) {
      while (!done) rti->evokeMultipleCallbacks(0.1, 1.0);
      done = false;
    };
    try {
      rti->createFederationExecution(L"Steps", L"aircraft.xml", L"HLAfloat64Time");
    } catch (FederationExecutionAlreadyExists const&) {
    }
    rti->joinFederationExecution({name.begin(), name.end()}, L"Stepper", L"Steps");
    auto aircraft = rti->getObjectClassHandle(L"Aircraft");
    stepper.position = rti->getAttributeHandle(aircraft, L"Position");
    rti->publishObjectClassAttributes(aircraft, {stepper.position});
    rti->subscribeObjectClassAttributes(aircraft, {stepper.position});
    auto own = rti->registerObjectInstance(aircraft);
    // The object model says receive order.
    rti->changeAttributeOrderType(own, {stepper.position}, TIMESTAMP);

    HLAfloat64Interval step(1.0);
    rti->enableTimeConstrained();
    wait_for(stepper.constrained);
    rti->enableTimeRegulation(step);
    wait_for(stepper.regulating);
    while (stepper.now.getTime() < 10.0) {
      HLAfloat64Time next(stepper.now.getTime() + step.getInterval());
      Position here;
      here.latitude = 48.35;
      here.longitude = 11.78;
      here.altitude = 100.0 * next.getTime();
      rti->updateAttributeValues(own, {{stepper.position, here.record.encode()}}, VariableLengthData(), next);
      rti->timeAdvanceRequest(next);
      wait_for(stepper.granted);
    }
    rti->resignFederationExecution(DELETE_OBJECTS_THEN_DIVEST);
    rti->disconnect();
  } catch (Exception const& error) {
    std::wcerr << error.what() << std::endl;
    return 1;
  }
}
