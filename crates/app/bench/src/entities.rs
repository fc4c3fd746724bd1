//! Federates that update entities by a script, and federates that subscribe them: the delay of
//! updates.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use federate::{Callback, hla};

use crate::alarm;
use crate::error::BenchError;
use crate::member::Member;
use crate::process::{PATIENCE, Process, orders, print_line};
use crate::role;
use console::rounds::Rounds;

/// An update of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    /// Time from the beginning.
    pub at: Duration,
    /// The entity, from 0.
    pub object: u32,
    /// Payload, in bytes; at least eight: it contains a time.
    pub size: u32,
    /// Whether it is sent reliably.
    pub reliable: bool,
}

/// The results of the subscribers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Seen {
    /// Number of reflects of all subscribers.
    pub(crate) reflects: u64,
    /// Quantiles of the time from an update to its reflects: 50, 90 and 99 %, in microseconds;
    /// `None` without reflects.
    pub(crate) quantiles_us: Option<[f64; 3]>,
}

/// Wait for the last updates to arrive.
const SETTLE: Duration = Duration::from_secs(1);

/// Sends the script to the player, and starts it.
pub(crate) async fn begin(player: &mut Process, script: &[Update]) -> Result<(), BenchError> {
    for Update { at, object, size, reliable } in script {
        player
            .send_line(&format!("update {} {object} {size} {}", at.as_micros(), u8::from(*reliable)))
            .await?;
    }
    player.send_line("play").await
}

/// Waits until all updates are sent, and collects the results of all processes of watchers.
pub(crate) async fn end(
    player: &mut Process,
    watchers: &mut [Process],
    script: &[Update],
) -> Result<Seen, BenchError> {
    let length = script.last().map_or(Duration::ZERO, |update| update.at);
    let words = player.hear_within("sent", length + PATIENCE).await?;
    let failed: u64 = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let sent = script.len() as u64;
    if failed > 0 {
        return Err(BenchError::Lossy { sent, received: sent - failed, failed });
    }
    tokio::time::sleep(SETTLE).await;
    // 0: the sizes of the updates differ.
    let mut times = Rounds::new(0);
    for watchers in watchers {
        watchers.send_line("report").await?;
        let words = watchers.hear("got").await?;
        if !words.iter().all(|word| times.add_word(word)) {
            return Err(BenchError::Unusable("federates say no times".to_owned()));
        }
    }
    let quantiles = [0.5, 0.9, 0.99].map(|share| times.quantile_us(share));
    Ok(Seen { reflects: times.samples(), quantiles_us: (times.samples() > 0).then_some(quantiles) })
}

/// Registers `objects` entities. `update MICROS OBJECT SIZE RELIABLE` adds to the script; `play` is
/// answered by `sent COUNT FAILED`, and the next script begins.
pub(crate) async fn play_player(
    server: String,
    federation: String,
    objects: usize,
) -> Result<(), BenchError> {
    let mut orders = orders();
    let member = Member::join(&server, &federation).await?;
    let entity = member.entity().await?;
    member.federate.publish_object_class_attributes(entity.class, entity.attributes).await?;
    let mut handles = Vec::with_capacity(objects);
    for _ in 0..objects {
        handles.push(member.federate.register_object_instance(entity.class).await?);
    }
    let Member { federate, mut callbacks, .. } = member;
    tokio::spawn(async move { while callbacks.recv().await.is_some() {} });
    print_line("ready");
    let updates = federate.updates();
    let (mut script, mut failed) = (Vec::new(), 0);
    while let Some(order) = orders.recv().await {
        if let [_, micros, object, size, reliable] = &order[..] {
            let at = Duration::from_micros(role::number(micros)? as u64);
            script.push((at, role::number(object)?, role::number(size)?, reliable == "1"));
            continue;
        }
        let begun = Instant::now();
        let moments = script.iter().map(|(at, ..)| begun + *at).collect();
        let mut ticks = alarm::at(moments).map_err(BenchError::system("thread"))?;
        for (_, object, size, reliable) in &script {
            // There is one signal for each update. One that waits already came while an earlier update
            // waited for the server, which delays this one, too: its time begins with the signal.
            let born = match ticks.try_recv() {
                Ok(signalled) => now_ns().saturating_sub(signalled.elapsed().as_nanos() as u64),
                Err(_) => {
                    let _ = ticks.recv().await;
                    now_ns()
                }
            };
            let unknown = || BenchError::Unusable(format!("there is no entity {object}"));
            let handle = *handles.get(*object).ok_or_else(unknown)?;
            let value = (entity.attributes[usize::from(!reliable)], stamped(*size, born));
            updates.update_attribute_values(handle, [value], "").await?;
            updates.flush();
        }
        // Failures are reported as a number; they are no error of this process.
        let _ = updates.drained().await;
        print_line(&format!("sent {} {}", script.len(), updates.counts().failed - failed));
        failed = updates.counts().failed;
        script.clear();
    }
    Ok(())
}

/// Federates that subscribe all entities: `report` is answered by `got` and all times, in the words
/// of [`Rounds`].
pub(crate) async fn play_watchers(server: &str, federation: &str, count: usize) -> Result<(), BenchError> {
    let mut orders = orders();
    // 0: the sizes of the updates differ.
    let times = Rc::new(RefCell::new(Rounds::new(0)));
    for _ in 0..count {
        let member = Member::join(server, federation).await?;
        let entity = member.entity().await?;
        member.federate.subscribe_object_class_attributes(entity.class, entity.attributes).await?;
        let times = Rc::clone(&times);
        tokio::task::spawn_local(async move {
            let Member { federate: _federate, mut callbacks, .. } = member;
            while let Some(callback) = callbacks.recv().await {
                if let Some(age) = age_of(&callback) {
                    times.borrow_mut().record(age);
                }
            }
        });
    }
    print_line("ready");
    while orders.recv().await.is_some() {
        let seen = times.replace(Rounds::new(0));
        let words: Vec<_> = std::iter::once("got".to_owned()).chain(seen.words()).collect();
        print_line(&words.join(" "));
    }
    Ok(())
}

/// A payload that contains a time.
fn stamped(size: usize, born_ns: u64) -> Bytes {
    let mut payload = BytesMut::zeroed(size.max(8));
    (&mut payload[..8]).put_u64(born_ns);
    payload.freeze()
}

/// The time since the update of a reflect was made.
fn age_of(callback: &Callback) -> Option<Duration> {
    let Callback::ReflectAttributeValues(hla::api::ReflectAttributeValues { attribute_values, .. }) =
        callback
    else {
        return None;
    };
    let value = &attribute_values.as_ref()?.attribute_handle_value.first()?.value;
    let born = u64::from_be_bytes(value.get(..8)?.try_into().ok()?);
    Some(Duration::from_nanos(now_ns().saturating_sub(born)))
}

/// The clock that all processes of a machine share.
fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use federate::hla::api::{AttributeHandleValue, AttributeHandleValueMap, ReflectAttributeValues};

    #[test]
    fn a_payload_knows_its_age() {
        let reflect = |value| {
            let value = AttributeHandleValue { attribute_handle: None, value };
            let attribute_values = Some(AttributeHandleValueMap { attribute_handle_value: vec![value] });
            Callback::ReflectAttributeValues(ReflectAttributeValues {
                attribute_values,
                ..Default::default()
            })
        };
        assert_eq!(stamped(100, now_ns()).len(), 100);
        let age = age_of(&reflect(stamped(16, now_ns()))).expect("it holds a moment");
        assert!(age < Duration::from_secs(60), "{age:?}");
        let old = Bytes::copy_from_slice(&(now_ns() - 5_000).to_be_bytes());
        assert!(age_of(&reflect(old)).is_some_and(|age| age >= Duration::from_micros(5)));
        assert_eq!(age_of(&reflect(Bytes::from_static(b"short"))), None);
    }
}
