//! Tests of the machine without MPI: queues join the ranks.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use node::link::LinkProvider as _;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::carrier::{Carrier, IN_FLIGHT_MAX, LinkKey};
use crate::link::{OUTGOING_BYTES, WINDOW_BYTES};
use crate::message::{Kind, Message, VERSION};
use crate::{Event, Messenger, Rank};

/// Counts wake-ups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ranks, and the messages under way between them: a queue from each rank to each.
struct Ranks {
    carriers: Vec<Carrier>,
    wires: Vec<Vec<VecDeque<Bytes>>>,
    woken: Arc<Count>,
}

impl Ranks {
    fn new(size: u32) -> Self {
        let count = size as usize;
        let carriers = (0..size).map(|rank| Carrier::new(rank, size)).collect();
        Self { carriers, wires: vec![vec![VecDeque::new(); count]; count], woken: Arc::default() }
    }

    /// Lets a rank send everything that it can.
    fn speak(&mut self, from: usize) {
        while let Some((to, message)) = self.carriers[from].poll_message() {
            self.wires[from][to as usize].push_back(message);
        }
    }

    /// Lets a rank take one message of another, if there is one; true if there was.
    fn take(&mut self, from: usize, to: usize) -> bool {
        let Some(message) = self.wires[from][to].pop_front() else { return false };
        self.carriers[from].handle_sent(to as u32);
        self.carriers[to].handle_message(from as u32, message).unwrap();
        true
    }

    /// Lets everything arrive.
    fn settle(&mut self) {
        loop {
            let count = self.carriers.len();
            (0..count).for_each(|rank| self.speak(rank));
            let mut moved = false;
            for from in 0..count {
                for to in 0..count {
                    moved |= self.take(from, to);
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn read(&mut self, rank: usize, link: LinkKey) -> Poll<Result<Bytes, String>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.carriers[rank].poll_read(link, &Context::from_waker(&waker), usize::MAX)
    }

    fn write(&mut self, rank: usize, link: LinkKey, octets: &[u8]) -> Poll<Result<usize, String>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.carriers[rank].poll_write(link, &Context::from_waker(&waker), octets)
    }

    fn connected(&mut self, rank: usize, link: LinkKey) -> Poll<Result<(), String>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.carriers[rank].poll_connected(link, &Context::from_waker(&waker))
    }

    fn accept(&mut self, rank: usize) -> Poll<Option<LinkKey>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.carriers[rank].poll_accept(&Context::from_waker(&waker))
    }

    /// A link from one rank to another, and its end there.
    fn link(&mut self, from: usize, to: usize) -> (LinkKey, LinkKey) {
        let _ = self.carriers[to].listen();
        let near = self.carriers[from].connect(to as u32).unwrap();
        assert!(self.connected(from, near).is_pending());
        self.settle();
        assert_eq!(self.connected(from, near), Poll::Ready(Ok(())));
        let Poll::Ready(Some(far)) = self.accept(to) else { panic!("it was made") };
        (near, far)
    }
}

#[test]
fn a_reader_that_reads_nothing_costs_a_window() {
    let mut ranks = Ranks::new(2);
    let (near, far) = ranks.link(0, 1);
    let part = vec![7; 100_000];
    let mut written = 0;
    while let Poll::Ready(count) = ranks.write(0, near, &part) {
        written += count.unwrap();
        ranks.settle();
    }
    assert_eq!(written, WINDOW_BYTES + OUTGOING_BYTES);
    assert_eq!(ranks.carriers[1].kept(), [(WINDOW_BYTES, 0)]);
    let woken = ranks.woken.0.load(Ordering::Relaxed);
    let mut read = 0;
    while let Poll::Ready(octets) = ranks.read(1, far) {
        read += octets.unwrap().len();
        ranks.settle();
    }
    assert_eq!(read, written, "all of it came");
    assert!(ranks.woken.0.load(Ordering::Relaxed) > woken, "the writer is told");
}

#[test]
fn a_rank_that_takes_nothing_is_sent_little() {
    let mut ranks = Ranks::new(2);
    let (near, _) = ranks.link(0, 1);
    let octets = vec![0; OUTGOING_BYTES];
    for _ in 0..100 {
        let _ = ranks.write(0, near, &octets);
        ranks.speak(0);
        let given_up = ranks.carriers[0].connect(1).unwrap();
        ranks.speak(0);
        ranks.carriers[0].close(given_up);
        ranks.speak(0);
    }
    assert_eq!(ranks.wires[0][1].len(), IN_FLIGHT_MAX);
    assert!(ranks.carriers[0].kept().len() <= 1 + IN_FLIGHT_MAX, "what was never said is forgotten");
    ranks.settle();
    assert_eq!(ranks.carriers[0].kept().len(), 1);
}

#[test]
fn refusals_say_why() {
    let mut ranks = Ranks::new(2);
    assert!(
        ranks.carriers[0].connect(2).unwrap_err().contains("there is no rank 2; the job has 2, from 0 to 1")
    );
    let refused = ranks.carriers[0].connect(1).unwrap();
    ranks.settle();
    assert_eq!(ranks.connected(0, refused), Poll::Ready(Err("no node listens at rank 1".into())));
    ranks.carriers[0].close(refused);
    assert!(ranks.carriers[1].listen() && !ranks.carriers[1].listen());
    let pending: Vec<_> = (0..65).map(|_| ranks.carriers[0].connect(1).unwrap()).collect();
    ranks.settle();
    assert_eq!(ranks.connected(0, pending[0]), Poll::Ready(Ok(())));
    let busy = "rank 1 does not come to accept links";
    assert_eq!(ranks.connected(0, pending[64]), Poll::Ready(Err(busy.into())));
    ranks.carriers[1].stop_listening();
    ranks.settle();
    assert_eq!(ranks.read(0, pending[0]), Poll::Ready(Ok(Bytes::new())), "it is at its end");
    assert!(ready_and(ranks.write(0, pending[0], b"x"), |result| result.is_err()));
}

/// True if it is ready with a value that satisfies `is`.
fn ready_and<T>(poll: Poll<T>, is: impl FnOnce(T) -> bool) -> bool {
    match poll {
        Poll::Ready(value) => is(value),
        Poll::Pending => false,
    }
}

#[test]
fn data_written_before_a_close_arrives() {
    let mut ranks = Ranks::new(2);
    let (near, far) = ranks.link(0, 1);
    assert!(ranks.write(0, near, b"last words").is_ready());
    ranks.carriers[0].close(near);
    ranks.settle();
    assert_eq!(ranks.read(1, far), Poll::Ready(Ok(Bytes::from_static(b"last words"))));
    assert_eq!(ranks.read(1, far), Poll::Ready(Ok(Bytes::new())));
    ranks.carriers[1].close(far);
    ranks.settle();
    assert!(ranks.carriers.iter().all(|carrier| carrier.kept().is_empty()), "both have forgotten it");
}

#[test]
fn losses_of_a_close_are_not_hidden() {
    let mut ranks = Ranks::new(2);
    let (near, far) = ranks.link(0, 1);
    let octets = vec![1; WINDOW_BYTES];
    while ranks.write(0, near, &octets).is_ready() {
        ranks.settle();
    }
    ranks.carriers[0].close(near);
    ranks.settle();
    let mut read = 0;
    let end = loop {
        match ranks.read(1, far) {
            Poll::Ready(Ok(octets)) if !octets.is_empty() => read += octets.len(),
            end => break end,
        }
    };
    assert_eq!((read, end), (WINDOW_BYTES, Poll::Ready(Err("the peer gave the link up".into()))));
}

#[test]
fn one_direction_may_end_before_the_other() {
    let mut ranks = Ranks::new(1); // a rank may have links to itself
    let (near, far) = ranks.link(0, 0);
    assert!(ranks.write(0, near, b"request").is_ready());
    ranks.carriers[0].shut(near);
    ranks.settle();
    assert_eq!(ranks.read(0, far), Poll::Ready(Ok(Bytes::from_static(b"request"))));
    assert_eq!(ranks.read(0, far), Poll::Ready(Ok(Bytes::new())));
    assert!(ready_and(ranks.write(0, near, b"more"), |result| result.is_err()));
    assert!(ranks.write(0, far, b"answer").is_ready());
    ranks.settle();
    assert_eq!(ranks.read(0, near), Poll::Ready(Ok(Bytes::from_static(b"answer"))));
}

#[test]
fn hostile_messages_end_the_links_with_their_rank_only() {
    let excess = vec![0; 60_000];
    let hostile = [
        Bytes::from_static(b"short"),
        Bytes::from(vec![99; 20]),
        Message::encode(Kind::Open, true, 1, 0, &[VERSION]), // the number is taken
    ];
    for message in hostile {
        let mut ranks = Ranks::new(3);
        let ((_, far), (_, other)) = (ranks.link(0, 1), ranks.link(2, 1));
        assert!(ranks.carriers[1].handle_message(0, message).is_err());
        ranks.settle();
        assert!(ready_and(ranks.read(1, far), |result| result.is_err_and(|why| why.contains("rank 0 sent"))));
        assert!(ranks.read(1, other).is_pending());
    }
    let mut ranks = Ranks::new(2);
    let (near, far) = ranks.link(0, 1);
    for _ in 0..18 {
        let data = Message::encode(Kind::Data, true, near.number, 0, &excess);
        ranks.carriers[1].handle_message(0, data).unwrap();
    }
    ranks.settle();
    let mut last = ranks.read(1, far);
    while matches!(&last, Poll::Ready(Ok(octets)) if !octets.is_empty()) {
        last = ranks.read(1, far);
    }
    assert!(ready_and(last, |result| result.is_err_and(|why| why.contains("where it may send"))));
    let stranger = Message::encode(Kind::Open, true, 77, 0, &[VERSION + 1]);
    ranks.carriers[1].handle_message(0, stranger).unwrap();
    ranks.speak(1);
    let refusal = Message::decode(ranks.wires[1][0].pop_back().unwrap()).unwrap();
    assert_eq!(
        (refusal.kind, &refusal.body[..]),
        (Kind::Refuse, &b"rank 1 speaks version 1 of the protocol for MPI, not 2"[..])
    );
}

#[test]
fn all_leave_before_it_is_over() {
    let mut ranks = Ranks::new(3);
    let (near, far) = ranks.link(0, 1);
    ranks.carriers[1].leave();
    ranks.settle();
    assert_eq!(ranks.read(0, near), Poll::Ready(Ok(Bytes::new())));
    assert_eq!(ranks.read(1, far), Poll::Ready(Ok(Bytes::new())));
    assert!(ranks.carriers[0].connect(1).unwrap_err().contains("rank 1 has left"));
    assert!(ranks.carriers[1].connect(0).is_err());
    ranks.carriers[0].leave();
    ranks.settle();
    assert!(ranks.carriers.iter().all(|carrier| !carrier.is_over()));
    assert_eq!(ranks.carriers[0].remaining(), 1);
    ranks.carriers[2].leave();
    ranks.settle();
    assert!(ranks.carriers.iter().all(Carrier::is_over));
}

/// One step of a run.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, usize),
    Read(usize),
    Speak(usize),
    Take(usize),
    Shut(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let end = 0..2_usize;
    prop_oneof![
        4 => (end.clone(), 1..200_000_usize).prop_map(|(end, count)| Step::Write(end, count)),
        4 => end.clone().prop_map(Step::Read),
        4 => end.clone().prop_map(Step::Speak),
        8 => end.clone().prop_map(Step::Take),
        1 => end.prop_map(Step::Shut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the order of events, each end reads what the other wrote, and keeps no more than it
    /// may.
    #[test]
    fn streams_are_streams(steps in proptest::collection::vec(step(), 1..300)) {
        let mut ranks = Ranks::new(2);
        let (near, far) = ranks.link(0, 1);
        let links = [near, far];
        let mut written = [0_usize; 2];
        let mut read = [0_usize; 2];
        let mut shut = [false; 2];
        let octet = |place: usize| (place % 251) as u8;
        let mut check = |ranks: &mut Ranks, end: usize| -> Poll<bool> {
            match ranks.read(end, links[end]) {
                Poll::Ready(Ok(octets)) => {
                    let sound = octets.iter().enumerate().all(|(index, &o)| o == octet(read[end] + index));
                    assert!(sound, "in order and whole");
                    read[end] += octets.len();
                    Poll::Ready(octets.is_empty())
                }
                Poll::Ready(Err(why)) => panic!("{why}"),
                Poll::Pending => Poll::Pending,
            }
        };
        for step in steps {
            match step {
                Step::Write(end, count) if !shut[end] => {
                    let octets: Vec<u8> = (0..count).map(|index| octet(written[end] + index)).collect();
                    if let Poll::Ready(count) = ranks.write(end, links[end], &octets) {
                        written[end] += count.unwrap();
                    }
                }
                Step::Write(..) => {}
                Step::Read(end) => drop(check(&mut ranks, end)),
                Step::Speak(end) => ranks.speak(end),
                Step::Take(end) => drop(ranks.take(1 - end, end)),
                Step::Shut(end) => {
                    ranks.carriers[end].shut(links[end]);
                    shut[end] = true;
                }
            }
            for kept in ranks.carriers.iter().flat_map(Carrier::kept) {
                prop_assert!(kept.0 <= WINDOW_BYTES && kept.1 <= OUTGOING_BYTES);
            }
        }
        for (carrier, link) in ranks.carriers.iter_mut().zip(links) {
            carrier.shut(link);
        }
        for end in 0..2 {
            loop {
                ranks.settle();
                if let Poll::Ready(true) = check(&mut ranks, end) {
                    break;
                }
            }
        }
        prop_assert_eq!([read[1], read[0]], written);
    }
}

/// The messenger of a rank whose peers are in the same process.
struct Local {
    rank: u32,
    others: Vec<mpsc::Sender<(u32, Bytes)>>,
    inbox: mpsc::Receiver<(u32, Bytes)>,
    sent: Vec<u32>,
}

impl Messenger for Local {
    fn send(&mut self, to: u32, message: Bytes) {
        let _ = self.others[to as usize].send((self.rank, message));
        self.sent.push(to);
    }

    fn poll(&mut self, events: &mut Vec<Event>) {
        events.extend(self.sent.drain(..).map(Event::Sent));
        events.extend(self.inbox.try_iter().map(|(from, message)| Event::Received(from, message)));
    }
}

#[test]
fn workers_carry_streams_and_end_together() {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel()).unzip();
    let ranks: Vec<Rank> = (0..2).map(|rank| Rank::new(rank, 2)).collect();
    let mut workers = Vec::new();
    for (rank, inbox) in inboxes.into_iter().enumerate() {
        let mut local = Local { rank: rank as u32, others: senders.clone(), inbox, sent: Vec::new() };
        let rank = ranks[rank].clone();
        workers.push(std::thread::spawn(move || rank.work(&mut local, Duration::from_millis(1))));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let total = 5 << 20;
    let got = Rc::new(RefCell::new(Vec::new()));
    runtime.block_on(async {
        let mut listener = ranks[1].listen().unwrap();
        let server = async {
            let (from, (mut read, mut write)) = listener.accept().await.unwrap();
            assert_eq!(from, 0);
            let mut all = Vec::new();
            read.read_to_end(&mut all).await.unwrap();
            got.replace(all);
            write.write_all(b"thanks").await.unwrap();
            write.shutdown().await.unwrap();
            let _ = read.read(&mut [0; 1]).await; // until the other end has read it
        };
        let client = async {
            let (mut read, mut write) = ranks[0].connect(1).await.unwrap();
            let octets: Vec<u8> = (0..total).map(|place| (place % 251) as u8).collect();
            write.write_all(&octets).await.unwrap();
            write.shutdown().await.unwrap();
            let mut answer = String::new();
            read.read_to_string(&mut answer).await.unwrap();
            assert_eq!(answer, "thanks");
        };
        tokio::join!(server, client);
        assert!(ranks[0].connect(7).await.is_err());
    });
    assert!(got.borrow().iter().enumerate().all(|(place, &octet)| octet == (place % 251) as u8));
    assert_eq!(got.borrow().len(), total);
    ranks.iter().for_each(Rank::leave);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}
