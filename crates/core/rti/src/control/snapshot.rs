//! The whole control plane as octets, and back.
//!
//! Two planes that applied the same commands have the same snapshot, octet for octet. Object models
//! are transferred as the texts of their modules, each text once. They are merged again in the
//! batches in which they were added, so that every handle is the same.

use super::nodes::{NodeRecord, Nodes};
use super::restoring::Restore;
use super::saving::Saves;
use super::wire::{Encoding, WireError, decode, encode};
use super::{ControlPlane, ExecutionId, Federation, Member, NameTable, NodeId, PublishedClass, SyncPoints};
use crate::modules::{Build, ModuleCache, ModuleText};
use base::NodeKey;
use bytes::Bytes;
use hla::api::ResignAction;
use hla::fom::{Fdd, Limits, Module};
use hla::handle::FederateHandle;
use hla::time::TimeKind;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The version of the wire form of snapshots.
const VERSION: u8 = 7;

/// The longest snapshot that is read, in octets.
const BYTES_MAX: usize = u32::MAX as usize;

/// The deepest nesting of classes that a network may allow. Reading a module recurses to this
/// depth.
const DEPTH_MAX: usize = 1_024;

#[derive(Serialize, Deserialize)]
struct Form<'a> {
    limits: [u64; 14],
    last_execution: u32,
    last_node: u16,
    removed_nodes: BTreeSet<NodeKey>,
    nodes: Vec<(NodeId, NodeKey, Cow<'a, str>)>,
    texts: Vec<TextForm<'a>>,
    federations: Vec<FederationForm<'a>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct TextForm<'a> {
    designator: Cow<'a, str>,
    text: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct FederationForm<'a> {
    id: ExecutionId,
    name: Cow<'a, str>,
    time: Cow<'a, str>,
    #[serde(with = "super::wire::resign_action")]
    directive: ResignAction,
    /// The creator's MIM, as an index into the texts.
    mim: Option<u32>,
    /// Modules in the order in which they were merged, as indices into the texts.
    modules: Vec<u32>,
    /// The number of modules in each merge.
    batches: Cow<'a, [u32]>,
    last_federate: u32,
    members: Cow<'a, BTreeMap<FederateHandle, Member>>,
    sync: Cow<'a, SyncPoints>,
    names: Cow<'a, NameTable>,
    publishers: Cow<'a, BTreeMap<PublishedClass, BTreeSet<NodeId>>>,
    publication_changes: u64,
    publication_commands: Cow<'a, BTreeMap<NodeId, u64>>,
    time_home: Option<NodeId>,
    watchers: Cow<'a, BTreeSet<(PublishedClass, NodeId)>>,
    auto_provide: bool,
    saves: Cow<'a, Saves>,
    restore: Cow<'a, Option<Restore>>,
    last_instances: Cow<'a, BTreeMap<NodeId, u32>>,
}

fn inconsistent(why: impl Into<String>) -> WireError {
    WireError::Inconsistent(why.into())
}

/// The whole state at one moment. It is taken quickly, and encoded on another thread: with millions
/// of names, encoding takes as long as many calls.
pub(crate) struct State {
    limits: Limits,
    last_execution: u32,
    nodes: Nodes,
    /// By id.
    federations: Vec<Federation>,
}

impl State {
    /// The state as octets.
    pub(crate) fn encode(&self) -> Bytes {
        let mut texts = Texts::default();
        let federations = self.federations.iter().map(|federation| federation.to_form(&mut texts)).collect();
        let nodes = self.nodes.live.values();
        encode(
            VERSION,
            &Form {
                limits: limits_form(&self.limits),
                last_execution: self.last_execution,
                last_node: self.nodes.last,
                removed_nodes: self.nodes.removed.clone(),
                nodes: nodes.map(|record| (record.node, record.key, record.name.as_str().into())).collect(),
                texts: texts.all,
                federations,
            },
        )
    }
}

/// A snapshot, decoded and not yet compared with any state. With millions of names, decoding takes
/// as long as many calls, so a job does it.
pub struct DecodedSnapshot(Form<'static>);

impl fmt::Debug for DecodedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodedSnapshot").finish_non_exhaustive()
    }
}

impl DecodedSnapshot {
    /// Decodes a snapshot.
    ///
    /// # Errors
    /// [`WireError`] if the octets are not a snapshot.
    pub fn of(snapshot: &[u8]) -> Result<Self, WireError> {
        decode(Encoding::Snapshot, VERSION, BYTES_MAX, snapshot).map(Self)
    }
}

impl ControlPlane {
    /// The whole state as octets.
    pub fn snapshot(&self) -> Bytes {
        self.state().encode()
    }

    /// The whole state.
    pub(crate) fn state(&self) -> State {
        let by_id = self.names.values().filter_map(|name| self.federations.get(name));
        State {
            limits: self.modules.limits().clone(),
            last_execution: self.last_execution,
            nodes: self.nodes.clone(),
            federations: by_id.cloned().collect(),
        }
    }

    /// The control plane of a snapshot. `previous` is an older state of the same history, or an
    /// empty one. Object models that it holds or keeps are taken from there.
    ///
    /// The limits on FOM modules are part of the snapshot. They are the same at all nodes: those of
    /// the creating node.
    ///
    /// # Errors
    /// [`WireError`] if no history leads to the snapshot.
    pub fn restore(
        DecodedSnapshot(form): DecodedSnapshot,
        previous: &ControlPlane,
    ) -> Result<Self, WireError> {
        let limits = limits(&form.limits)?;
        let nodes = restore_nodes(form.nodes, form.removed_nodes, form.last_node)?;
        let mut plane = Self { last_execution: form.last_execution, nodes, ..Self::default() };
        let mut reader = Reader::new(&form.texts, previous, &limits);
        for form in form.federations {
            let id = form.id;
            if id.0 == 0 || id.0 > plane.last_execution {
                return Err(inconsistent(format!("{id} was never given out")));
            }
            let federation = restore_federation(form, &plane.nodes, &mut reader)?;
            let name = federation.name.clone();
            if plane.names.insert(id, name.clone()).is_some() {
                return Err(inconsistent(format!("{id} twice")));
            }
            if plane.federations.insert(name.clone(), federation).is_some() {
                return Err(inconsistent(format!("federation execution `{name}` twice")));
            }
        }
        plane.modules = reader.modules.with_limits(limits);
        plane.recount_memory();
        Ok(plane)
    }

    /// The object models that [`restore`](Self::restore) would take long to build. A job must build
    /// them first, within the limits that come with them, and they must be
    /// [kept](Self::keep_model).
    ///
    /// # Errors
    /// [`WireError`] as for [`restore`](Self::restore), as far as it is detectable without models.
    pub(crate) fn models_of(
        &self,
        DecodedSnapshot(form): &DecodedSnapshot,
    ) -> Result<Option<(Limits, Vec<Build>)>, WireError> {
        let limits = limits(&form.limits)?;
        let reader = Reader::new(&form.texts, self, &limits);
        let mut builds = Vec::new();
        for form in &form.federations {
            if let Plan::Build(build) = reader.plan(form)?
                && !self.modules.is_ready(&build)
            {
                builds.push(build);
            }
        }
        Ok((!builds.is_empty()).then(|| (limits_of_restored(&limits), builds)))
    }
}

/// A text that arrived as UTF-16 within the limit may be longer as UTF-8, its form in a snapshot.
fn limits_of_restored(limits: &Limits) -> Limits {
    Limits { module_bytes: limits.module_bytes.saturating_mul(2), ..limits.clone() }
}

/// Module texts, each once, with their indices.
#[derive(Default)]
struct Texts<'a> {
    all: Vec<TextForm<'a>>,
    places: BTreeMap<TextForm<'a>, u32>,
}

impl<'a> Texts<'a> {
    fn place(&mut self, module: &'a Module) -> u32 {
        let form = TextForm { designator: module.designator().into(), text: module.text().into() };
        let Self { all, places } = self;
        *places.entry(form.clone()).or_insert_with(|| {
            all.push(form);
            all.len() as u32 - 1
        })
    }
}

impl Federation {
    fn to_form<'a>(&'a self, texts: &mut Texts<'a>) -> FederationForm<'a> {
        FederationForm {
            id: self.id,
            name: self.name.as_str().into(),
            time: self.time.name().into(),
            directive: self.directive,
            mim: self.own_mim.then(|| texts.place(self.model.mim())),
            modules: self.model.modules().iter().map(|module| texts.place(module)).collect(),
            batches: self.batches.as_slice().into(),
            last_federate: self.last_federate,
            members: Cow::Borrowed(&self.members),
            sync: Cow::Borrowed(&self.sync),
            names: Cow::Borrowed(&self.names),
            publishers: Cow::Borrowed(&self.publishers),
            publication_changes: self.publication_changes,
            publication_commands: Cow::Borrowed(&self.publication_commands),
            time_home: self.time_home,
            watchers: Cow::Borrowed(&self.watchers),
            auto_provide: self.auto_provide,
            saves: Cow::Borrowed(&self.saves),
            restore: Cow::Borrowed(&self.restore),
            last_instances: Cow::Borrowed(&self.last_instances),
        }
    }
}

fn limits_form(limits: &Limits) -> [u64; 14] {
    let Limits {
        module_bytes,
        call_modules,
        call_bytes,
        model_bytes,
        depth,
        nodes,
        lookups,
        tag_attributes,
        namespaces,
        classes,
        members,
        name_bytes,
        path_bytes,
        diagnostics,
    } = *limits;
    let sizes = [
        module_bytes,
        call_modules,
        call_bytes,
        model_bytes,
        depth,
        nodes as usize,
        usize::try_from(lookups).unwrap_or(usize::MAX),
        tag_attributes,
        namespaces,
        classes,
        members,
        name_bytes,
        path_bytes,
        diagnostics,
    ];
    sizes.map(|size| size as u64)
}

fn limits(form: &[u64; 14]) -> Result<Limits, WireError> {
    let size = |place: usize| usize::try_from(form[place]).unwrap_or(usize::MAX);
    let limits = Limits {
        module_bytes: size(0),
        call_modules: size(1),
        call_bytes: size(2),
        model_bytes: size(3),
        depth: size(4),
        nodes: u32::try_from(form[5]).unwrap_or(u32::MAX),
        lookups: form[6],
        tag_attributes: size(7),
        namespaces: size(8),
        classes: size(9),
        members: size(10),
        name_bytes: size(11),
        path_bytes: size(12),
        diagnostics: size(13),
    };
    match limits.depth {
        0..=DEPTH_MAX => Ok(limits),
        depth => Err(inconsistent(format!("classes {depth} deep are allowed; at most {DEPTH_MAX} may be"))),
    }
}

fn restore_nodes(
    forms: Vec<(NodeId, NodeKey, Cow<'_, str>)>,
    removed: BTreeSet<NodeKey>,
    last: u16,
) -> Result<Nodes, WireError> {
    let mut nodes = Nodes { live: BTreeMap::new(), removed, last };
    for (node, key, name) in forms {
        let known = nodes.live.values();
        if node.0 == 0 || node.0 > last || nodes.removed.contains(&key) {
            return Err(inconsistent(format!("node `{name}` ({node}, {key}) cannot be part of the network")));
        }
        if known.into_iter().any(|other| other.node == node || other.key == key || other.name == name) {
            return Err(inconsistent(format!("node `{name}` ({node}, {key}) twice")));
        }
        nodes.live.insert(node, NodeRecord { node, key, name: name.into_owned() });
    }
    Ok(nodes)
}

fn restore_federation(
    form: FederationForm<'_>,
    nodes: &Nodes,
    reader: &mut Reader<'_>,
) -> Result<Federation, WireError> {
    let model = reader.model(&form)?;
    let FederationForm { id, name, last_federate, .. } = form;
    let wrong = |why: String| inconsistent(format!("federation execution `{name}`: {why}"));
    if name.is_empty() {
        return Err(wrong("it has no name".to_owned()));
    }
    let time = TimeKind::from_name(&form.time).map_err(|error| wrong(error.to_string()))?;
    let mut seen = BTreeSet::new();
    for (&federate, member) in form.members.iter() {
        if federate.0 == 0 || federate.0 > last_federate {
            return Err(wrong(format!("{federate} was never given out")));
        }
        if !nodes.may_act(member.node) {
            return Err(wrong(format!("{federate} is connected to {}, which is gone", member.node)));
        }
        if !seen.insert(&member.name) {
            return Err(wrong(format!("two federates are called `{}`", member.name)));
        }
    }
    let is_known = |class: PublishedClass| match class {
        PublishedClass::Objects(class) => model.object_class(class).is_some(),
        PublishedClass::Interactions(class) => model.interaction_class(class).is_some(),
        PublishedClass::Directed => true,
    };
    for (&class, publishing) in form.publishers.iter() {
        if !is_known(class) || publishing.is_empty() || publishing.iter().any(|&node| !nodes.may_act(node)) {
            return Err(wrong(format!("{publishing:?} cannot publish {class:?}")));
        }
    }
    if let Some(&node) = form.publication_commands.keys().find(|&&node| !nodes.may_act(node)) {
        return Err(wrong(format!("{node} cannot have changed its publications")));
    }
    if let Some(home) = form.time_home.filter(|&home| !nodes.may_act(home)) {
        return Err(wrong(format!("{home} cannot be its time home")));
    }
    let cannot = |(class, node): &&(PublishedClass, NodeId)| !nodes.may_act(*node) || !is_known(*class);
    if let Some((class, node)) = form.watchers.iter().find(cannot) {
        return Err(wrong(format!("{node} cannot watch {class:?}")));
    }
    Ok(Federation {
        id,
        name: name.into_owned(),
        time,
        directive: form.directive,
        model,
        sync: form.sync.into_owned(),
        names: form.names.into_owned(),
        members: form.members.into_owned(),
        last_federate,
        own_mim: form.mim.is_some(),
        batches: form.batches.into_owned(),
        publishers: form.publishers.into_owned(),
        publication_changes: form.publication_changes,
        publication_commands: form.publication_commands.into_owned(),
        time_home: form.time_home,
        watchers: form.watchers.into_owned(),
        auto_provide: form.auto_provide,
        saves: form.saves.into_owned(),
        restore: form.restore.into_owned(),
        last_instances: form.last_instances.into_owned(),
    })
}

/// Merges object models from module texts.
struct Reader<'a> {
    texts: &'a [TextForm<'static>],
    previous: &'a ControlPlane,
    modules: ModuleCache,
}

/// How to obtain an object model.
enum Plan {
    /// It exists already.
    Known(Fdd),
    /// It must be built.
    Build(Build),
}

impl<'a> Reader<'a> {
    fn new(texts: &'a [TextForm<'static>], previous: &'a ControlPlane, limits: &Limits) -> Self {
        Self { texts, previous, modules: previous.modules.with_limits(limits_of_restored(limits)) }
    }

    fn text(&self, place: u32) -> Result<&'a TextForm<'static>, WireError> {
        let count = self.texts.len();
        self.texts
            .get(place as usize)
            .ok_or_else(|| inconsistent(format!("module text {place} of {count} does not exist")))
    }

    /// How to obtain the model of a federation execution.
    fn plan(&self, form: &FederationForm<'_>) -> Result<Plan, WireError> {
        let texts: Vec<_> = form.modules.iter().map(|&place| self.text(place)).collect::<Result<_, _>>()?;
        let mim = form.mim.map(|place| self.text(place)).transpose()?;
        let total = form.batches.iter().try_fold(0u32, |sum, &batch| sum.checked_add(batch));
        if form.batches.is_empty() || total.map(|total| total as usize) != Some(texts.len()) {
            let text = format!("{} modules do not come in batches of {:?}", texts.len(), form.batches);
            return Err(wrong(form, &text));
        }
        let before = self.previous.execution(form.id);
        let before = before.filter(|before| continues(before, mim, &texts, &form.batches));
        let done = before.map_or(0, |before| before.batches.len());
        let mut rest = &texts[before.map_or(0, |before| before.model.modules().len())..];
        let mut batches = Vec::new();
        for &batch in &form.batches[done..] {
            let (now, later) = rest.split_at(batch as usize);
            batches.push(now.iter().map(|text| text.owned()).collect());
            rest = later;
        }
        let base = before.map(|before| before.model.clone());
        Ok(match base {
            Some(model) if batches.is_empty() => Plan::Known(model),
            base => {
                let mim = mim.filter(|_| base.is_none()).map(TextForm::owned);
                Plan::Build(Build { base, mim, batches })
            }
        })
    }

    fn model(&mut self, form: &FederationForm<'_>) -> Result<Fdd, WireError> {
        let model = match self.plan(form)? {
            Plan::Known(model) => Ok(model),
            Plan::Build(build) => match self.previous.modules.kept(&build) {
                Some(kept) => kept.clone(),
                None => self.modules.take(&build),
            },
        };
        let model = model.map_err(|error| wrong(form, &error.to_string()))?;
        if model.modules().len() != form.modules.len() {
            return Err(wrong(form, "a batch of its modules repeats one"));
        }
        Ok(model)
    }
}

fn wrong(form: &FederationForm<'_>, why: &str) -> WireError {
    inconsistent(format!("federation execution `{}`: {why}", form.name))
}

impl TextForm<'_> {
    fn owned(&self) -> ModuleText {
        let text = Bytes::copy_from_slice(self.text.as_bytes());
        ModuleText { designator: self.designator.clone().into_owned(), text }
    }

    fn is(&self, module: &Module) -> bool {
        self.designator == module.designator() && self.text == module.text()
    }
}

/// Whether the model of `before` is a prefix of the one with these modules.
fn continues(
    before: &Federation,
    mim: Option<&TextForm<'_>>,
    texts: &[&TextForm<'_>],
    batches: &[u32],
) -> bool {
    let same_mim = match mim {
        Some(mim) => before.own_mim && mim.is(before.model.mim()),
        None => !before.own_mim,
    };
    let modules = before.model.modules();
    same_mim
        && batches.starts_with(&before.batches)
        && modules.len() <= texts.len()
        && modules.iter().zip(texts).all(|(module, text)| text.is(module))
}
