use super::*;
use crate::send::Audience;

impl Rig {
    /// Sends a message, and copies of it as they become due. Some receiver misses the first
    /// `missed` sendings, and asks when no further copy can come.
    fn round(&mut self, missed: usize) -> usize {
        let dsn = self.send(1, b"x");
        let sent = self.now;
        let mut copies = 0;
        while self.now.since(sent) < ms(600) {
            self.now += ms(5);
            self.sender.expire(self.now);
            copies += self.again().iter().filter(|(.., why)| *why == Why::Copy).count();
        }
        if copies < missed {
            self.nack(1, dsn.sn.0);
            self.again();
        }
        self.now += ms(2_000);
        self.sender.expire(self.now);
        self.again();
        copies
    }

    /// The mean number of copies over `count` rounds.
    fn rounds(&mut self, count: usize, missed: impl Fn(usize) -> usize) -> f64 {
        (0..count).map(|round| self.round(missed(round))).sum::<usize>() as f64 / count as f64
    }
}

#[test]
fn copies_begin_where_most_messages_need_repairs_and_end_where_they_do_not() {
    let mut rig = Rig::new(false);
    rig.sender.config.copy_share = 0.0;
    assert_eq!(rig.rounds(16, |_| 1), 0.0);
    rig.rounds(50, |_| 1);
    assert!(rig.rounds(160, |_| 1) >= 0.9);
    rig.rounds(400, |_| 0);
    assert_eq!(rig.rounds(100, |_| 0), 0.0);
    assert!(rig.sender.missed_share() < 0.5);
}

#[test]
fn reports_of_a_large_group_make_copies_at_once() {
    let mut rig = Rig::new(false);
    rig.sender.config.copy_share = 0.0;
    rig.sender.set_audience(Audience { members: 1_000, loss: 0.05 });
    assert_eq!(rig.rounds(15, |_| 2), 2.0);
    // One message in sixteen tests whether one copy would be enough.
    assert_eq!(rig.round(2), 1);
    // The reports were of one receiver that loses more than all others.
    rig.rounds(300, |_| 0);
    assert_eq!(rig.rounds(100, |_| 0), 0.0);
}

#[test]
fn fresher_state_is_paid_from_a_share_of_what_is_sent() {
    let mut rig = Rig::new(false);
    // Some receiver misses one message in four.
    let missed = |round: usize| usize::from(round.is_multiple_of(4));
    rig.rounds(40, missed);
    assert_eq!(rig.rounds(100, missed), 0.0, "nothing was sent but these");
    rig.sender.earn_copies(20 * 50);
    let copies: usize = (0..100).map(|round| rig.round(missed(round))).sum();
    assert_eq!(copies, 50, "bytes, a twentieth of what was sent");
    rig.sender.earn_copies(1_000_000);
    assert!(rig.rounds(100, missed) > 0.9);
    rig.rounds(3_000, |_| 0);
    assert_eq!(rig.rounds(100, |_| 0), 0.0);
}

#[test]
fn copies_come_at_even_times_and_a_repair_takes_the_place_of_one() {
    let mut rig = Rig::new(false);
    rig.sender.set_audience(Audience { members: 1_000, loss: 0.2 });
    let begin = rig.now;
    rig.send(1, b"x");
    let mut at = Vec::new();
    while let Some(next) = rig.sender.deadline().filter(|next| next.since(begin) < ms(500)) {
        rig.now = next;
        rig.sender.expire(next);
        let copies = rig.again();
        at.extend(copies.iter().map(|_| next.since(begin).as_millis()));
    }
    assert_eq!(at, [20, 40]);
    rig.now += ms(500);
    let begin = rig.now;
    rig.send(1, b"y");
    rig.now += ms(15);
    rig.nack(1, 1);
    assert_eq!(rig.again().len(), 1, "a repair");
    let before = rig.sender.counters().pieces_copied;
    rig.now = begin + ms(22);
    rig.sender.expire(rig.now);
    assert_eq!(rig.again(), []);
    assert_eq!(rig.sender.counters().pieces_copied, before);
}
