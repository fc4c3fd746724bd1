//! A chat room: the smallest federate that uses a little of everything.
//!
//! ```text
//! meshrti serve                                          # in one terminal
//! cargo run -p meshrti-federate --example chat -- Ann    # in a second
//! cargo run -p meshrti-federate --example chat -- Ben    # in a third
//! ```
//!
//! A typed line goes to everybody, `Ann: hello` goes to Ann alone, and a single dot leaves. The
//! example shares federation `ChatRoom` and its object model with the chat samples of other
//! Federate Protocol clients, so that all of them can talk.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;

use bytes::Bytes;
use federate::hla::Exception;
use federate::hla::api::{ParameterHandleValueMap, ResignAction};
use federate::hla::encoding::{DecoderError, Encode as _, EncoderError, Encoding as _};
use federate::hla::handle::{
    AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, ParameterHandle,
};
use federate::{Callback, Callbacks, Federate, FederateError, Options, fom};
use tokio::io::{AsyncBufReadExt as _, BufReader};

const FEDERATION: &str = "ChatRoom";
const FOM: &str = include_str!("chat.xml");

/// The handles of the names in the object model.
struct Model {
    communication: InteractionClassHandle,
    message: ParameterHandle,
    sender: ParameterHandle,
    participant: ObjectClassHandle,
    name: AttributeHandle,
}

struct Chat {
    federate: Federate,
    model: Model,
    /// This person's name, and the object that represents the person.
    me: (String, ObjectInstanceHandle),
    others: BTreeMap<ObjectInstanceHandle, String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("usage: chat NAME [HOST[:PORT]]")?;
    let server = arguments.next().unwrap_or_else(|| "localhost".to_owned());
    let (federate, mut callbacks) = Federate::connect(Options::new(server)).await?;
    join(&federate).await?;
    let model = declare(&federate).await?;
    let me = enter(&federate, &mut callbacks, &model, name).await?;
    println!("You are in. Say something, `NAME: something` to one person, or `.` to leave.");
    let mut chat = Chat { federate, model, me, others: BTreeMap::new() };
    chat.say_name().await?;
    chat.run(&mut callbacks).await?;
    chat.leave().await?;
    Ok(())
}

/// Creates the federation execution unless it exists, and joins it.
async fn join(federate: &Federate) -> Result<(), FederateError> {
    match federate.create_federation_execution(FEDERATION, fom::content("chat.xml", FOM)).await {
        Err(error) if !error.is(Exception::FederationExecutionAlreadyExists) => return Err(error),
        _ => {}
    }
    federate.join_federation_execution("Chat", FEDERATION).await?;
    Ok(())
}

/// Looks names up, and declares publications and subscriptions. Calls that do not need each other's
/// results are in flight at the same time.
async fn declare(federate: &Federate) -> Result<Model, FederateError> {
    let communication = federate.get_interaction_class_handle("Communication");
    let participant = federate.get_object_class_handle("Participant");
    let (communication, participant) = (communication.await?, participant.await?);
    let message = federate.get_parameter_handle(communication, "Message");
    let sender = federate.get_parameter_handle(communication, "Sender");
    let name = federate.get_attribute_handle(participant, "Name");
    let model = Model {
        communication,
        message: message.await?,
        sender: sender.await?,
        participant,
        name: name.await?,
    };
    let declarations = [
        federate.subscribe_interaction_class(communication),
        federate.publish_interaction_class(communication),
        federate.subscribe_object_class_directed_interactions(participant, [communication]),
        federate.publish_object_class_directed_interactions(participant, [communication]),
        federate.subscribe_object_class_attributes(participant, [model.name]),
        federate.publish_object_class_attributes(participant, [model.name]),
    ];
    for declaration in declarations {
        declaration.await?;
    }
    Ok(model)
}

/// Reserves the name, if it is free, and registers the participant.
async fn enter(
    federate: &Federate,
    callbacks: &mut Callbacks,
    model: &Model,
    name: String,
) -> Result<(String, ObjectInstanceHandle), Box<dyn Error>> {
    federate.reserve_object_instance_name(&name).await?;
    loop {
        match callbacks.recv().await.ok_or("the connection ended")? {
            Callback::ObjectInstanceNameReservationSucceeded(_) => break,
            Callback::ObjectInstanceNameReservationFailed(_) => {
                return Err(format!("the name {name} is taken").into());
            }
            _ => {} // present participants are discovered again when their names come
        }
    }
    let object = federate.register_object_instance_with_name(model.participant, &name).await?;
    Ok((name, object))
}

impl Chat {
    /// Serves the keyboard and the RTI until one of them ends.
    async fn run(&mut self, callbacks: &mut Callbacks) -> Result<(), Box<dyn Error>> {
        self.federate
            .request_class_attribute_value_update(self.model.participant, [self.model.name], Bytes::new())
            .await?;
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        loop {
            tokio::select! {
                line = lines.next_line() => match line? {
                    Some(line) if line != "." => self.say(&line).await?,
                    _ => return Ok(()),
                },
                callback = callbacks.recv() => match callback {
                    Some(callback) => self.hear(callback).await?,
                    None => return Err("the connection ended".into()),
                },
            }
        }
    }

    async fn hear(&mut self, callback: Callback) -> Result<(), Box<dyn Error>> {
        match callback {
            Callback::ReceiveInteraction(said) => self.show("", said.parameter_values)?,
            Callback::ReceiveDirectedInteraction(said) => self.show("(to you) ", said.parameter_values)?,
            Callback::DiscoverObjectInstance(found) => {
                let object = found.object_instance.unwrap_or_default();
                let wanted = [self.model.name];
                self.federate.request_instance_attribute_value_update(object, wanted, Bytes::new()).await?;
            }
            Callback::ReflectAttributeValues(update) => {
                let object = update.object_instance.unwrap_or_default();
                for pair in update.attribute_values.unwrap_or_default().attribute_handle_value {
                    if pair.attribute_handle == Some(self.model.name) {
                        let name = text(&pair.value)?;
                        if self.others.insert(object, name.clone()).is_none() {
                            println!("[{name} is here]");
                        }
                    }
                }
            }
            Callback::RemoveObjectInstance(gone) => {
                if let Some(name) = self.others.remove(&gone.object_instance.unwrap_or_default()) {
                    println!("[{name} has left]");
                }
            }
            Callback::ProvideAttributeValueUpdate(_) => self.say_name().await?,
            Callback::ConnectionLost(lost) => {
                println!("[the connection is lost: {}]", lost.fault_description);
            }
            _ => {}
        }
        Ok(())
    }

    fn show(&self, note: &str, values: Option<ParameterHandleValueMap>) -> Result<(), DecoderError> {
        let (mut sender, mut message) = (String::new(), String::new());
        for pair in values.unwrap_or_default().parameter_handle_value {
            match pair.parameter_handle {
                Some(handle) if handle == self.model.sender => sender = text(&pair.value)?,
                Some(handle) if handle == self.model.message => message = text(&pair.value)?,
                _ => {}
            }
        }
        println!("{note}{sender}: {message}");
        Ok(())
    }

    /// Sends `line` to everybody or, if it starts with a name and a colon, to that person.
    async fn say(&self, line: &str) -> Result<(), Box<dyn Error>> {
        let addressed = line.split_once(": ").and_then(|(name, rest)| {
            let (object, _) = self.others.iter().find(|(_, known)| *known == name)?;
            Some((*object, rest))
        });
        let values = |message: &str| -> Result<_, EncoderError> {
            Ok([(self.model.message, octets(message)?), (self.model.sender, octets(&self.me.0)?)])
        };
        let (class, tag) = (self.model.communication, Bytes::new());
        match addressed {
            Some((object, message)) => {
                self.federate.send_directed_interaction(class, object, values(message)?, tag).await?;
            }
            None => self.federate.send_interaction(class, values(line)?, tag).await?,
        }
        Ok(())
    }

    async fn say_name(&self) -> Result<(), Box<dyn Error>> {
        let values = [(self.model.name, octets(&self.me.0)?)];
        self.federate.update_attribute_values(self.me.1, values, Bytes::new()).await?;
        Ok(())
    }

    /// Resigns, and destroys the federation execution if this was the last participant.
    async fn leave(&self) -> Result<(), FederateError> {
        self.federate.resign_federation_execution(ResignAction::CancelThenDeleteThenDivest).await?;
        // Other participants may still be joined; and if two leave at once, one of them finds it
        // gone.
        let expected = [Exception::FederatesCurrentlyJoined, Exception::FederationExecutionDoesNotExist];
        match self.federate.destroy_federation_execution(FEDERATION).await {
            Err(error) if !expected.iter().any(|exception| error.is(*exception)) => return Err(error),
            _ => {}
        }
        self.federate.disconnect().await
    }
}

fn octets(text: &str) -> Result<Bytes, EncoderError> {
    text.to_owned().encode()
}

fn text(octets: &Bytes) -> Result<String, DecoderError> {
    String::decode(octets)
}
