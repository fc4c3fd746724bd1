//! A small server over a real socket: the protocol's own endpoint, and an RTI of a few lines.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::{Address, Moment, Serial31};
use bytes::BytesMut;
use fedpro::server::{Config, ConnId, Endpoint, Event, SessionKey};
use hla::api::call_request::CallRequest as Request;
use hla::api::call_response::CallResponse as Response;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{
    CallResponse, CallbackRequest, ConnectResponse, DisconnectResponse, ExceptionData,
    FederationExecutionInformationSet, GetObjectClassHandleResponse, ListFederationExecutionsResponse,
    Message as _, ReflectAttributeValues, ReportFederationExecutions, UpdateAttributeValuesResponse,
};
use hla::handle::{ObjectClassHandle, ObjectInstanceHandle};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Updates of this instance raise an exception.
pub(super) const REFUSED: ObjectInstanceHandle = ObjectInstanceHandle(13);

/// An order of a test to the server.
#[derive(Debug)]
pub(super) enum Fault {
    /// Close the connection; keep the session.
    Cut,
    /// Close the connection and the listening socket, for good.
    Vanish,
    /// Be silent: read and write nothing for this long.
    Freeze(Duration),
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) faults: UnboundedSender<Fault>,
    /// All events of the endpoint except calls.
    pub(super) events: UnboundedReceiver<Event>,
    /// The answers to calls that this server does not know, in order, each with the callbacks that
    /// follow it.
    pub(super) script: Script,
}

pub(super) type Script = Arc<Mutex<VecDeque<(Response, Vec<Callback>)>>>;

impl Server {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (faults, inbox) = unbounded_channel();
        let (outbox, events) = unbounded_channel();
        let world = World {
            start: Instant::now(),
            endpoint: Endpoint::new(Config::default()),
            current: None,
            opened: 0,
            events: outbox,
            script: Script::default(),
        };
        let script = Arc::clone(&world.script);
        tokio::spawn(world.run(listener, inbox));
        Self { address, faults, events, script }
    }

    /// The first event that `wanted` accepts.
    pub(super) async fn event(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        let search = async {
            loop {
                let event = self.events.recv().await.expect("the server runs");
                if wanted(&event) {
                    return event;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), search).await.expect("the event comes")
    }
}

struct World {
    start: Instant,
    endpoint: Endpoint,
    current: Option<(ConnId, TcpStream)>,
    opened: u64,
    events: UnboundedSender<Event>,
    script: Script,
}

impl World {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    async fn run(mut self, listener: TcpListener, mut faults: UnboundedReceiver<Fault>) {
        loop {
            let mut buffer = BytesMut::with_capacity(1 << 16);
            tokio::select! {
                accepted = listener.accept() => {
                    self.close();
                    self.opened += 1;
                    let conn = ConnId(self.opened);
                    let (now, id) = (self.now(), 0x1122_3344_5566_0000 + self.opened);
                    self.endpoint.handle_open(now, conn, Address::default(), id);
                    self.current = Some((conn, accepted.unwrap().0));
                }
                read = read(&mut self.current, &mut buffer) => match read {
                    (conn, count) if count > 0 => {
                        let now = self.now();
                        self.endpoint.handle_bytes(now, conn, buffer.freeze());
                    }
                    _ => self.close(),
                },
                order = faults.recv() => match order {
                    Some(Fault::Cut) => self.close(),
                    Some(Fault::Freeze(time)) => tokio::time::sleep(time).await,
                    Some(Fault::Vanish) | None => return,
                },
            }
            self.serve();
            self.write().await;
        }
    }

    fn close(&mut self) {
        if let Some((conn, _)) = self.current.take() {
            let now = self.now();
            self.endpoint.handle_closed(now, conn);
        }
    }

    fn serve(&mut self) {
        let now = self.now();
        while let Some(event) = self.endpoint.poll_event() {
            if let Event::Call { session, call, request } = event {
                self.answer(now, session, call, request.call_request.expect("it holds a service"));
            } else {
                let _ = self.events.send(event);
            }
        }
    }

    fn answer(&mut self, now: Moment, session: SessionKey, call: Serial31, request: Request) {
        let raise = |name: &str, details: String| {
            Response::ExceptionData(ExceptionData { exception_name: name.into(), details })
        };
        let mut callbacks = Vec::new();
        let response = match request {
            Request::ConnectRequest(_) => {
                Response::ConnectResponse(ConnectResponse { configuration_result: Some(Default::default()) })
            }
            Request::DisconnectRequest(_) => Response::DisconnectResponse(DisconnectResponse {}),
            Request::GetObjectClassHandleRequest(request) => match request.object_class_name.parse() {
                Ok(number) => Response::GetObjectClassHandleResponse(GetObjectClassHandleResponse {
                    result: Some(ObjectClassHandle(number)),
                }),
                Err(_) => raise("NameNotFound", request.object_class_name),
            },
            Request::UpdateAttributeValuesRequest(request) if request.object_instance == Some(REFUSED) => {
                raise("ObjectInstanceNotKnown", "thirteen".into())
            }
            Request::UpdateAttributeValuesRequest(request) => {
                callbacks.push(Callback::ReflectAttributeValues(ReflectAttributeValues {
                    object_instance: request.object_instance,
                    user_supplied_tag: request.user_supplied_tag,
                    ..Default::default()
                }));
                Response::UpdateAttributeValuesResponse(UpdateAttributeValuesResponse {})
            }
            Request::ListFederationExecutionsRequest(_) => {
                callbacks.push(Callback::ReportFederationExecutions(ReportFederationExecutions {
                    report: Some(FederationExecutionInformationSet::default()),
                }));
                Response::ListFederationExecutionsResponse(ListFederationExecutionsResponse {})
            }
            // A wrong answer, as from a server that mixes up its answers.
            Request::GetObjectClassNameRequest(_) => Response::DisconnectResponse(DisconnectResponse {}),
            _ => match self.script.lock().unwrap().pop_front() {
                Some((response, following)) => {
                    callbacks = following;
                    response
                }
                None => raise("SomethingNew", "not in this server".into()),
            },
        };
        self.endpoint.respond(now, session, call, &CallResponse { call_response: Some(response) });
        for callback in callbacks {
            let body = CallbackRequest { callback_request: Some(callback) }.encode_to_vec();
            self.endpoint.callback(now, session, body.into());
        }
    }

    async fn write(&mut self) {
        let now = self.now();
        while let Some(conn) = self.endpoint.poll_ready() {
            loop {
                let mut out = BytesMut::new();
                let transmit = self.endpoint.poll_transmit(now, conn, &mut out, 1 << 16);
                let Some((_, stream)) = self.current.as_mut().filter(|(current, _)| *current == conn) else {
                    break;
                };
                let _ = stream.write_all(&out).await; // a broken connection shows when it is read
                if transmit.close_after {
                    let _ = stream.shutdown().await;
                }
                if !transmit.more {
                    break;
                }
            }
        }
    }
}

/// Reads from the current connection; without one, waits forever.
async fn read(current: &mut Option<(ConnId, TcpStream)>, buffer: &mut BytesMut) -> (ConnId, usize) {
    match current {
        Some((conn, stream)) => (*conn, stream.read_buf(buffer).await.unwrap_or(0)),
        None => std::future::pending().await,
    }
}
