//! Ownership of attributes (clause 7) between nodes: requests to the home of an instance, and the
//! decisions that the home announces in the stream of the class.

use super::event::{attributes, put_attributes, put_regions, regions};
use super::{Reader, RegionSet, Writer};
use bytes::Bytes;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle, TransportationTypeHandle};
use router::WireError;
use serde::{Deserialize, Serialize};

/// The transportation and order type of an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) transportation: TransportationTypeHandle,
    /// The preferred order is TimeStamp, not Receive.
    pub(crate) time_stamped: bool,
}

/// The services of clause 7 that the home of an instance decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnershipAction {
    /// Unconditional Attribute Ownership Divestiture (7.2), or the end of a publication (5.3).
    Divest,
    /// Negotiated Attribute Ownership Divestiture (7.3).
    Negotiate,
    /// Confirm Divestiture (7.6).
    Confirm,
    /// Attribute Ownership Acquisition (7.8).
    Acquire,
    /// Attribute Ownership Acquisition If Available (7.9).
    AcquireIfAvailable,
    /// Attribute Ownership Release Denied (7.12).
    DenyRelease,
    /// Attribute Ownership Divestiture If Wanted (7.13).
    DivestIfWanted,
    /// Cancel Negotiated Attribute Ownership Divestiture (7.14).
    CancelNegotiated,
    /// Cancel Attribute Ownership Acquisition (7.15).
    CancelAcquisition,
    /// The federate no longer publishes what it wanted to acquire if available.
    Forget,
    /// Delete Object Instance (6.16) by an owner of the privilege to delete.
    Delete,
    /// The owner has changed the transportation type of attributes (6.25).
    ChangeTransportation,
    /// The owner has changed the order type of attributes (8.24).
    ChangeOrder,
}

impl OwnershipAction {
    pub(super) const ALL: [Self; 13] = [
        Self::Divest,
        Self::Negotiate,
        Self::Confirm,
        Self::Acquire,
        Self::AcquireIfAvailable,
        Self::DenyRelease,
        Self::DivestIfWanted,
        Self::CancelNegotiated,
        Self::CancelAcquisition,
        Self::Forget,
        Self::Delete,
        Self::ChangeTransportation,
        Self::ChangeOrder,
    ];

    /// Whether the home answers. A call, or the end of a publication, may wait for the answer.
    pub(crate) const fn is_answered(self) -> bool {
        matches!(self, Self::Divest | Self::Confirm | Self::DivestIfWanted | Self::Forget | Self::Delete)
            || self.changes_delivery()
    }

    /// Whether the owner has changed how attributes are delivered. Its own node has done so already.
    pub(crate) const fn changes_delivery(self) -> bool {
        matches!(self, Self::ChangeTransportation | Self::ChangeOrder)
    }

    /// The number of deliveries in a request about so many attributes.
    const fn deliveries(self, attributes: usize) -> usize {
        if self.is_acquisition() { attributes } else { self.changes_delivery() as usize }
    }

    /// Whether the federate's node keeps the request until it is answered, and repeats it to a new
    /// home.
    pub(crate) const fn is_kept(self) -> bool {
        !matches!(self, Self::DenyRelease | Self::CancelNegotiated)
    }

    /// Whether the federate wants to become the owner.
    pub(crate) const fn is_acquisition(self) -> bool {
        matches!(self, Self::Acquire | Self::AcquireIfAvailable)
    }
}

/// A request of a federate for the home of an instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OwnershipRequest {
    pub(crate) federate: FederateHandle,
    pub(crate) instance: ObjectInstanceHandle,
    /// The federate's node recognizes the answer by it.
    pub(crate) number: u64,
    pub(crate) action: OwnershipAction,
    pub(crate) attributes: Vec<AttributeHandle>,
    /// For acquisitions: how the federate would send each of the attributes. For changes of delivery:
    /// one for all of them. Otherwise empty.
    pub(crate) deliveries: Vec<Delivery>,
    /// For acquisitions: the regions that the federate has associated with some of the attributes.
    pub(crate) regions: Vec<(AttributeHandle, RegionSet)>,
    pub(crate) tag: Bytes,
}

/// An attribute with its new owner's delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnedAttribute {
    pub(crate) attribute: AttributeHandle,
    pub(crate) delivery: Delivery,
}

/// The callbacks of clause 7 to one federate that leave the owners as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoticeKind {
    /// Request Divestiture Confirmation (7.5).
    ConfirmationRequested,
    /// Attribute Ownership Unavailable (7.10).
    Unavailable,
    /// Request Attribute Ownership Release (7.11).
    ReleaseRequested,
    /// Confirm Attribute Ownership Acquisition Cancellation (7.16).
    CancellationConfirmed,
}

impl NoticeKind {
    const ALL: [Self; 4] =
        [Self::ConfirmationRequested, Self::Unavailable, Self::ReleaseRequested, Self::CancellationConfirmed];
}

/// A decision of the home about attributes of an instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OwnershipDecision {
    /// A federate has acquired attributes (7.7) that `from`, or nobody, owned.
    Acquired { from: FederateHandle, to: FederateHandle, attributes: Vec<OwnedAttribute>, tag: Bytes },
    /// `owner` has given attributes up (7.2). They are unowned, and offered (7.4) to all other
    /// federates that publish them, or will.
    Divested { owner: FederateHandle, attributes: Vec<AttributeHandle>, tag: Bytes },
    /// Attributes are offered (7.4) to all federates but `owner` that publish them, or will. With
    /// `announced` false, only to those that will.
    Offered { owner: FederateHandle, attributes: Vec<AttributeHandle>, tag: Bytes, announced: bool },
    /// Attributes are no longer offered.
    Withdrawn { attributes: Vec<AttributeHandle> },
    /// A callback to a federate. `number`: that of its acquisition, if the attributes are
    /// unavailable.
    Notice { to: FederateHandle, kind: NoticeKind, number: u64, attributes: Vec<AttributeHandle>, tag: Bytes },
    /// The answer to the request with this number. `refused`: no acquisition is pending, and
    /// nothing has happened. Otherwise these attributes were divested.
    Answered { to: FederateHandle, number: u64, refused: bool, attributes: Vec<AttributeHandle> },
}

/// The item with this number in a list of all items.
fn item<T: Copy>(all: &[T], number: u8, subject: &str) -> Result<T, WireError> {
    let unknown = || WireError(format!("{number} is no {subject} (0 to {})", all.len() - 1));
    all.get(usize::from(number)).copied().ok_or_else(unknown)
}

impl Delivery {
    fn write(self, out: &mut impl Writer) {
        out.number(u64::from(self.transportation.0) << 1 | u64::from(self.time_stamped));
    }

    fn read(r: &mut Reader) -> Result<Self, WireError> {
        let how = r.u64("transportation and order")?;
        let transportation =
            u32::try_from(how >> 1).map_err(|_| WireError("a transportation type has 32 bits".to_owned()))?;
        Ok(Self { transportation: TransportationTypeHandle(transportation), time_stamped: how & 1 == 1 })
    }
}

impl OwnershipRequest {
    /// A request without a number that is no acquisition.
    pub(crate) fn new(
        (instance, federate): (ObjectInstanceHandle, FederateHandle),
        action: OwnershipAction,
        attributes: Vec<AttributeHandle>,
        tag: Bytes,
    ) -> Self {
        let (deliveries, regions) = (Vec::new(), Vec::new());
        Self { federate, instance, number: 0, action, attributes, deliveries, regions, tag }
    }

    pub(super) fn write(&self, out: &mut impl Writer) {
        out.number(self.federate.0);
        out.number(self.instance.0);
        out.number(self.number);
        out.octet(self.action as u8);
        put_attributes(out, &self.attributes);
        out.number(self.deliveries.len() as u64);
        self.deliveries.iter().for_each(|delivery| delivery.write(out));
        if self.action.is_acquisition() {
            put_regions(out, &self.regions);
        }
        out.octets(&self.tag);
    }

    pub(super) fn read(r: &mut Reader) -> Result<Self, WireError> {
        let federate = FederateHandle(r.u32("a federate")?);
        let instance = ObjectInstanceHandle(r.u64("an instance")?);
        let number = r.u64("the number of a request")?;
        let action = item(&OwnershipAction::ALL, r.u8("an action")?, "action on ownership")?;
        let attributes = attributes(r)?;
        let deliveries = r.list("the number of deliveries", Delivery::read)?;
        let expected = action.deliveries(attributes.len());
        if deliveries.len() != expected {
            let text = format!("{} deliveries instead of {expected}", deliveries.len());
            return Err(WireError(text));
        }
        let regions = if action.is_acquisition() { regions(r)? } else { Vec::new() };
        let tag = r.octets("a tag")?;
        Ok(Self { federate, instance, number, action, attributes, deliveries, regions, tag })
    }
}

impl OwnershipDecision {
    /// The latest federate that it mentions.
    pub(super) fn latest_federate(&self) -> FederateHandle {
        match self {
            Self::Acquired { from, to, .. } => (*from).max(*to),
            Self::Offered { owner, .. } | Self::Divested { owner, .. } => *owner,
            Self::Withdrawn { .. } => FederateHandle::INVALID,
            Self::Notice { to, .. } | Self::Answered { to, .. } => *to,
        }
    }

    pub(super) fn write(&self, out: &mut impl Writer) {
        match self {
            Self::Acquired { from, to, attributes, tag } => {
                out.octet(0);
                out.number(from.0);
                out.number(to.0);
                out.number(attributes.len() as u64);
                for owned in attributes {
                    out.number(owned.attribute.0);
                    owned.delivery.write(out);
                }
                out.octets(tag);
            }
            Self::Offered { owner, attributes, tag, announced } => {
                out.octet(1);
                out.number(owner.0);
                put_attributes(out, attributes);
                out.octets(tag);
                out.octet((*announced).into());
            }
            Self::Divested { owner, attributes, tag } => {
                out.octet(5);
                out.number(owner.0);
                put_attributes(out, attributes);
                out.octets(tag);
            }
            Self::Withdrawn { attributes } => {
                out.octet(2);
                put_attributes(out, attributes);
            }
            Self::Notice { to, kind, number, attributes, tag } => {
                out.octet(3);
                out.number(to.0);
                out.octet(*kind as u8);
                out.number(*number);
                put_attributes(out, attributes);
                out.octets(tag);
            }
            Self::Answered { to, number, refused, attributes } => {
                out.octet(4);
                out.number(to.0);
                out.number(*number);
                out.octet((*refused).into());
                put_attributes(out, attributes);
            }
        }
    }

    pub(super) fn read(r: &mut Reader) -> Result<Self, WireError> {
        Ok(match r.u8("the kind of decision")? {
            0 => Self::Acquired {
                from: FederateHandle(r.u32("an owner")?),
                to: FederateHandle(r.u32("an owner")?),
                attributes: r.list("the number of attributes", |r| {
                    let attribute = AttributeHandle(r.u32("an attribute")?);
                    Ok::<_, WireError>(OwnedAttribute { attribute, delivery: Delivery::read(r)? })
                })?,
                tag: r.octets("a tag")?,
            },
            1 => Self::Offered {
                owner: FederateHandle(r.u32("an owner")?),
                attributes: attributes(r)?,
                tag: r.octets("a tag")?,
                announced: r.flag("whether it is announced")?,
            },
            2 => Self::Withdrawn { attributes: attributes(r)? },
            3 => Self::Notice {
                to: FederateHandle(r.u32("a federate")?),
                kind: item(&NoticeKind::ALL, r.u8("the kind of notice")?, "kind of notice")?,
                number: r.u64("the number of a request")?,
                attributes: attributes(r)?,
                tag: r.octets("a tag")?,
            },
            4 => Self::Answered {
                to: FederateHandle(r.u32("a federate")?),
                number: r.u64("the number of a request")?,
                refused: r.flag("whether it is refused")?,
                attributes: attributes(r)?,
            },
            5 => Self::Divested {
                owner: FederateHandle(r.u32("an owner")?),
                attributes: attributes(r)?,
                tag: r.octets("a tag")?,
            },
            other => return Err(WireError(format!("{other} is no kind of decision (0 to 5)"))),
        })
    }
}
