//! Checks of a quiet network.

use crate::calls::{Act, CLASSES, Pairs, Ranges, Regions, attributes};
use crate::mirror::Place;
use crate::nodes::{Received, Trial};
use crate::script;
use hla::handle::ObjectInstanceHandle;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The instances that each federate knows.
type Knowledge = Vec<BTreeSet<ObjectInstanceHandle>>;

/// An interaction: sender, class, regions with which it is sent.
type Sent = (usize, usize, Vec<Ranges>);

impl Trial {
    /// Makes all calls that are left, and waits until everything that they cause has happened.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        for _ in 0..1_000 {
            let live = self.mirror.live();
            if live.iter().all(|&at| self.ports[at].next.is_empty()) {
                break;
            }
            live.into_iter().try_for_each(|at| self.go_on(at))?;
            self.pass(Duration::from_millis(20))?;
        }
        self.pass(self.settled)?;
        for at in self.mirror.live() {
            if let Some(call) = &self.ports[at].call {
                return Err(format!("f{at}: {call:?} is not answered"));
            }
        }
        Ok(())
    }

    pub(crate) fn knowledge(&self) -> Knowledge {
        self.mirror.feds.iter().map(|fed| fed.known.keys().copied().collect()).collect()
    }

    /// Lets the network become quiet, and compares everything with the mirror. `before`: the
    /// instances that were known when the network was quiet the last time, if the step since then
    /// can have added only those that are due now.
    pub(crate) fn judge(&mut self, before: Option<&Knowledge>) -> Result<(), String> {
        self.settle()?;
        self.history.push(format!("{:?} all is quiet", self.cluster.now()));
        self.judge_deletions()?;
        self.judge_knowledge(before)?;
        self.judge_scope()?;
        self.judge_messages()?;
        self.judge_request()?;
        self.mirror.feds.iter_mut().for_each(|fed| fed.is_quiet());
        Ok(())
    }

    /// A deletion is lost only with the node of its federate. Those who know the instance tell whether it
    /// is: the witness, which subscribes everything, does not discover one that nobody owns any longer.
    fn judge_deletions(&mut self) -> Result<(), String> {
        for (instance, by) in std::mem::take(&mut self.deleted) {
            let mut live = self.mirror.live().into_iter();
            match live.find(|&at| self.mirror.feds[at].known.contains_key(&instance)) {
                None => drop(self.mirror.instances.remove(&instance)),
                Some(at) if !self.mirror.feds[by].is_dead => {
                    return Err(format!("f{at} knows {instance:?}, which f{by} has deleted"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn judge_knowledge(&self, before: Option<&Knowledge>) -> Result<(), String> {
        let mirror = &self.mirror;
        let mut owned: BTreeMap<Place, usize> = BTreeMap::new();
        for at in mirror.live() {
            for &place in &mirror.feds[at].owns {
                if let Some(other) = owned.insert(place, at) {
                    return Err(format!("f{at} owns {place:?}, and so does f{other}"));
                }
            }
            let known = &mirror.feds[at].known;
            if let Some(gone) = known.keys().find(|instance| !mirror.instances.contains_key(instance)) {
                return Err(format!("f{at} knows {gone:?}, which is deleted"));
            }
            for &instance in mirror.instances.keys() {
                let (must, knows) = (mirror.must_know(at, instance), known.contains_key(&instance));
                let did = before.map(|before| before[at].contains(&instance));
                if must && !knows {
                    return Err(format!("f{at} does not know {instance:?}"));
                }
                if did.is_some_and(|did| knows != (did || must)) {
                    return Err(format!("f{at}: knows {instance:?}: {knows}, before: {did:?}, must: {must}"));
                }
            }
        }
        Ok(())
    }

    fn judge_scope(&mut self) -> Result<(), String> {
        for at in self.mirror.live() {
            for place in self.places() {
                let (is_in, due) =
                    (self.mirror.feds[at].in_scope.contains(&place), self.mirror.reaches(at, place));
                // Doubts last until the next report, or until the network is quiet.
                if self.mirror.feds[at].doubtful.remove(&place) {
                    match due {
                        true => self.mirror.feds[at].in_scope.insert(place),
                        false => self.mirror.feds[at].in_scope.remove(&place),
                    };
                    continue;
                }
                if is_in != due {
                    return Err(format!("f{at}: {place:?} is in scope: {is_in}, by the mirror: {due}"));
                }
            }
        }
        Ok(())
    }

    fn places(&self) -> Vec<Place> {
        let all = self.mirror.instances.iter();
        all.flat_map(|(&instance, &class)| attributes(class).map(move |at| (instance, at))).collect()
    }

    /// Every owner updates everything once, and every federate sends interactions of both classes
    /// with and without regions.
    fn judge_messages(&mut self) -> Result<(), String> {
        self.received = Received::default();
        let mut sent: BTreeMap<Vec<u8>, Sent> = BTreeMap::new();
        for at in self.mirror.live() {
            for instance in self.mirror.instances.keys().copied().collect::<Vec<_>>() {
                let owned = self.mirror.feds[at].owned_of(instance);
                if !owned.is_empty() {
                    self.act(at, Act::Update(instance, owned))?;
                }
            }
            for class in 0..CLASSES {
                let fed = &self.mirror.feds[at];
                let committed = fed.committed();
                let fits = |region: &_| {
                    fed.dimensions_of(*region).iter().all(|at| crate::calls::dimensions(class).contains(at))
                };
                let all: Vec<_> = committed.into_iter().filter(fits).collect();
                let some: Regions = draw_some(&mut self.draw, &all);
                for regions in [Regions::new(), some] {
                    let ranges = regions.iter().map(|&region| self.mirror.feds[at].region(region)).collect();
                    let tag = self.send(at, class, regions)?;
                    sent.insert(tag, (at, class, ranges));
                }
            }
        }
        self.pass(self.settled)?;
        self.judge_reflected()?;
        self.judge_heard(&sent)
    }

    /// Sends an interaction. Returns its tag.
    fn send(&mut self, at: usize, class: usize, regions: Regions) -> Result<Vec<u8>, String> {
        let tag = self.cluster.stamp(self.ports[at].host);
        let call = self.handles.call(&Act::Send(class, regions), tag.clone());
        self.cluster.act(self.ports[at].host, call).map_err(|failure| failure.to_string())?;
        Ok(tag.to_vec())
    }

    fn judge_reflected(&mut self) -> Result<(), String> {
        for at in self.mirror.live() {
            for place in self.places() {
                let came = self.received.reflected.remove(&(at, place)).unwrap_or_default();
                let due = match self.mirror.reaches(at, place) {
                    true => vec![self.mirror.update_regions(place)],
                    false => Vec::new(),
                };
                self.count(due.len(), self.mirror.owner(place).is_some_and(|owner| owner != at));
                if came != due {
                    let owner = self.mirror.owner(place);
                    return Err(format!(
                        "f{at}: updates of {place:?} by {owner:?} have come with {came:?}, not with {due:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn judge_heard(&mut self, sent: &BTreeMap<Vec<u8>, Sent>) -> Result<(), String> {
        for at in self.mirror.live() {
            for (tag, (sender, class, regions)) in sent {
                let came = self.received.heard.remove(&(at, tag.clone())).unwrap_or_default();
                let heard = self.mirror.hears(at, *class, regions).filter(|_| at != *sender);
                let due: Vec<_> = heard.into_iter().map(|class| (class, regions.clone())).collect();
                self.count(due.len(), at != *sender && !regions.is_empty());
                if came != due {
                    return Err(format!(
                        "f{at}: an interaction of f{sender} at class {class} with {regions:?} has come as \
                         {came:?}, not as {due:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, due: usize, is_possible: bool) {
        self.counts.0 += due as u64;
        self.counts.1 += u64::from(due == 0 && is_possible);
    }

    /// One federate requests values with regions.
    fn judge_request(&mut self) -> Result<(), String> {
        let live = self.mirror.live();
        let Some(&at) = self.draw.pick(&live) else { return Ok(()) };
        let class = self.draw.below(CLASSES as u64) as usize;
        let fed = &self.mirror.feds[at];
        let fits = |region: &_| {
            fed.dimensions_of(*region).iter().all(|at| crate::calls::dimensions(class).contains(at))
        };
        let all: Vec<_> = fed.committed().into_iter().filter(fits).collect();
        let mut pairs = Pairs::new();
        for attribute in attributes(class) {
            pairs.extend(draw_some(&mut self.draw, &all).into_iter().map(|region| (attribute, region)));
        }
        let asked = self.mirror.asked(at, class, &pairs);
        let due: BTreeMap<_, _> =
            asked.into_iter().filter_map(|place| Some(((self.mirror.owner(place)?, place), 1))).collect();
        self.received = Received::default();
        self.act(at, Act::RequestWith(class, pairs.clone()))?;
        self.settle()?;
        match self.received.asked == due {
            true => Ok(()),
            false => Err(format!(
                "f{at} requests class {class} {pairs:?}: asked {:?}, by the mirror {due:?}",
                self.received.asked
            )),
        }
    }

    /// Single calls in a quiet network. Nobody may discover anything that is not due afterwards.
    pub(crate) fn judge_single_steps(&mut self) -> Result<(), String> {
        for _ in 0..2 {
            let before = self.knowledge();
            let live = self.mirror.live();
            let Some(&at) = self.draw.pick(&live) else { return Ok(()) };
            let is_witness = self.has_faults && at == 0;
            let fed = &self.mirror.feds[at];
            let acts = match self.draw.chance(40) {
                true => script::draw_ownership(&mut self.draw, fed),
                false => script::draw_distribution(&mut self.draw, fed),
            };
            let is_loss = |act: &Act| matches!(act, Act::Unsubscribe(..) | Act::LocalDelete(_));
            if acts.iter().any(|act| matches!(act, Act::LocalDelete(_))) {
                continue;
            }
            // A federate that has waited for an attribute may have changed its regions since it asked
            // for the attribute. The home learns of that only after the transfer.
            let is_gift = |act: &Act| matches!(act, Act::Divest(..) | Act::DivestIfWanted(..));
            let before = if acts.iter().any(is_gift) { None } else { Some(before) };
            self.ports[at].next.extend(acts.into_iter().filter(|act| !is_witness || !is_loss(act)));
            self.judge(before.as_ref())?;
        }
        Ok(())
    }
}

fn draw_some(draw: &mut testkit::Draw, all: &[hla::handle::RegionHandle]) -> Regions {
    (0..draw.between(0, 2)).filter_map(|_| draw.pick(all).copied()).collect()
}
