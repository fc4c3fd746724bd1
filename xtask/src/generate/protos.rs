//! The messages of the `.proto` files: their Rust types, and queries of other generators about
//! them.

use super::names::{snake_case, type_name};
use anyhow::{Context, bail};
use protox::prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use protox::prost_reflect::prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Handle messages are typed numbers of our own, not wrappers around bytes.
const HANDLES: [&str; 10] = [
    "FederateHandle",
    "ObjectClassHandle",
    "AttributeHandle",
    "InteractionClassHandle",
    "ParameterHandle",
    "ObjectInstanceHandle",
    "MessageRetractionHandle",
    "TransportationTypeHandle",
    "DimensionHandle",
    "RegionHandle",
];

pub(super) fn compile(folder: &Path) -> anyhow::Result<FileDescriptorSet> {
    let files = ["datatypes.proto", "RTIambassador.proto", "FederateAmbassador.proto"];
    protox::compile(files, [folder]).context("the .proto files are not valid")
}

/// The messages as Rust types.
pub(super) fn rust(set: FileDescriptorSet) -> anyhow::Result<String> {
    let out = Scratch::new()?;
    let mut config = prost_build::Config::new();
    config.out_dir(&out.0).bytes(["."]);
    for handle in HANDLES {
        config.extern_path(format!(".rti1516_2025.fedpro.{handle}"), format!("crate::handle::{handle}"));
    }
    config.compile_fds(set).context("no code for the .proto files")?;
    std::fs::read_to_string(out.0.join("rti1516_2025.fedpro.rs")).context("one package, one file")
}

/// A folder that is removed when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("meshrti-gen-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // left in the temporary folder at worst
    }
}

/// A field of a message.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Field {
    /// As Rust spells it.
    pub(super) name: String,
    /// As the API spells it.
    pub(super) api_name: String,
    /// The name of its type, if that is a message or an enumeration; otherwise empty.
    pub(super) message: String,
    pub(super) kind: Kind,
}

/// The type of a field, as far as the generated code depends on it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    /// A Rust type that is the same on the wire: `bool`, `u32`, `f64`.
    Scalar(&'static str),
    Text,
    Texts,
    Octets,
    Enumeration(String),
    Handle(String),
    /// A logical time or interval: some Rust types convert to it.
    Time(String),
    /// A message that only wraps a list of these items.
    Collection(String),
    /// Any other message.
    Message(String),
}

/// All messages by their names.
pub(super) struct Messages<'a>(HashMap<&'a str, &'a DescriptorProto>);

impl<'a> Messages<'a> {
    pub(super) fn of(set: &'a FileDescriptorSet) -> Self {
        Self(set.file.iter().flat_map(|file| &file.message_type).map(|m| (m.name(), m)).collect())
    }

    /// The names and numbers of the messages that a wrapper such as `CallRequest` can hold, by
    /// number.
    pub(super) fn variants(&self, wrapper: &str) -> anyhow::Result<Vec<(&'a str, i32)>> {
        let message = self.get(wrapper)?;
        let mut variants: Vec<_> =
            message.field.iter().map(|field| (short(field.type_name()), field.number())).collect();
        variants.sort_by_key(|&(_, number)| number);
        Ok(variants)
    }

    /// The fields of a message, in the order of the file.
    pub(super) fn fields(&self, message: &str) -> anyhow::Result<Vec<Field>> {
        let field = |field: &FieldDescriptorProto| {
            let kind = self.kind(field).with_context(|| format!("{message}.{}", field.name()))?;
            let (api_name, message) = (field.name().to_owned(), short(field.type_name()).to_owned());
            Ok(Field { name: snake_case(field.name()), api_name, message, kind })
        };
        self.get(message)?.field.iter().map(field).collect()
    }

    fn get(&self, message: &str) -> anyhow::Result<&'a DescriptorProto> {
        self.0.get(message).copied().with_context(|| format!("no message is called {message}"))
    }

    fn kind(&self, field: &FieldDescriptorProto) -> anyhow::Result<Kind> {
        let name = short(field.type_name());
        Ok(match (field.r#type(), field.label()) {
            (Type::String, Label::Repeated) => Kind::Texts,
            (_, Label::Repeated) => bail!("a list that no message wraps"),
            (Type::Bool, _) => Kind::Scalar("bool"),
            (Type::Uint32, _) => Kind::Scalar("u32"),
            (Type::Double, _) => Kind::Scalar("f64"),
            (Type::String, _) => Kind::Text,
            (Type::Bytes, _) => Kind::Octets,
            (Type::Enum, _) => Kind::Enumeration(type_name(name)),
            (Type::Message, _) if HANDLES.contains(&name) => Kind::Handle(name.to_owned()),
            (Type::Message, _) if ["LogicalTime", "LogicalTimeInterval"].contains(&name) => {
                Kind::Time(name.to_owned())
            }
            (Type::Message, _) => match self.item(name)? {
                Some(item) => Kind::Collection(item),
                None => Kind::Message(type_name(name)),
            },
            (other, _) => bail!("fields of type {other:?} do not occur in this API"),
        })
    }

    /// The Rust type of a message's items, if the message wraps a list and nothing else.
    fn item(&self, message: &str) -> anyhow::Result<Option<String>> {
        let [list] = self.get(message)?.field.as_slice() else { return Ok(None) };
        if list.label() != Label::Repeated || list.r#type() != Type::Message {
            return Ok(None);
        }
        let item = short(list.type_name());
        let is_pair = item.ends_with("Pair") || item.ends_with("HandleValue");
        if HANDLES.contains(&item) || !is_pair {
            return Ok(Some(type_name(item)));
        }
        let halves = self.fields(item)?.into_iter().map(|field| match field.kind {
            Kind::Handle(handle) => handle,
            Kind::Octets => "Bytes".to_owned(),
            Kind::Collection(item) => format!("Vec<{item}>"),
            other => format!("{other:?}"),
        });
        Ok(Some(format!("({})", halves.collect::<Vec<_>>().join(", "))))
    }
}

/// The name of a type without its package.
fn short(type_name: &str) -> &str {
    type_name.rsplit('.').next().unwrap_or_default()
}
