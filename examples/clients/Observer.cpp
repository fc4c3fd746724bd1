// Prints where aircraft are, until the first of them is gone. The server's address is the argument.
#include <RTI/RTI1516.h>
#include <RTI/NullFederateAmbassador.h>
#include <RTI/encoding/BasicDataElements.h>
#include <RTI/encoding/HLAfixedRecord.h>

#include <future>
#include <iostream>

using namespace rti1516_2025;

class Observer : public NullFederateAmbassador {
 public:
  AttributeHandle position;
  std::promise<void> gone;

  void discoverObjectInstance(ObjectInstanceHandle const&, ObjectClassHandle const&,
                              std::wstring const& name, FederateHandle const&) override {
    std::wcout << L"new: " << name << std::endl;
  }

  void reflectAttributeValues(ObjectInstanceHandle const&, AttributeHandleValueMap const& values,
                              VariableLengthData const&, TransportationTypeHandle const&,
                              FederateHandle const&, RegionHandleSet const*) override {
    HLAfloat64BE latitude, longitude, altitude;
    HLAfixedRecord record;
    record.appendElementPointer(&latitude);
    record.appendElementPointer(&longitude);
    record.appendElementPointer(&altitude);
    record.decode(values.at(position));
    std::wcout << latitude.get() << L" " << longitude.get() << L", " << altitude.get() << L" m" << std::endl;
  }

  void removeObjectInstance(ObjectInstanceHandle const&, VariableLengthData const&,
                            FederateHandle const&) override {
    gone.set_value();
  }
};

int main(int argc, char* argv[]) {
  std::string address = argc > 1 ? argv[1] : "localhost:15164";
  try {
    Observer observer;
    auto rti = RTIambassadorFactory().createRTIambassador();
    auto settings = RtiConfiguration::createConfiguration().withRtiAddress({address.begin(), address.end()});
    rti->connect(observer, HLA_IMMEDIATE, settings);
    try {
      rti->createFederationExecution(L"Range", L"aircraft.xml");
    } catch (FederationExecutionAlreadyExists const&) {
    }
    rti->joinFederationExecution(L"Observer", L"Range");
    auto aircraft = rti->getObjectClassHandle(L"Aircraft");
    observer.position = rti->getAttributeHandle(aircraft, L"Position");
    rti->subscribeObjectClassAttributes(aircraft, {observer.position});
    observer.gone.get_future().wait();
    rti->resignFederationExecution(NO_ACTION);
    rti->disconnect();
  } catch (Exception const& error) {
    std::wcerr << error.what() << std::endl;
    return 1;
  }
}
