//! Declaration management, by names.

use super::Fed;
use super::calls::{Refused, plain};
use hla::api;
use hla::api::call_request::CallRequest as Call;

impl Fed {
    pub(crate) fn publish(&self, class: &str, attributes: &[&str]) -> Refused {
        plain!(
            self,
            PublishObjectClassAttributesRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
            }
        )
    }

    pub(crate) fn unpublish(&self, class: &str, attributes: &[&str]) -> Refused {
        plain!(
            self,
            UnpublishObjectClassAttributesRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
            }
        )
    }

    pub(crate) fn unpublish_class(&self, class: &str) -> Refused {
        plain!(self, UnpublishObjectClassRequest { object_class: self.class(class) })
    }

    pub(crate) fn subscribe(&self, class: &str, attributes: &[&str]) -> Refused {
        plain!(
            self,
            SubscribeObjectClassAttributesRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
            }
        )
    }

    pub(crate) fn subscribe_passively(&self, class: &str, attributes: &[&str]) -> Refused {
        plain!(
            self,
            SubscribeObjectClassAttributesPassivelyRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
            }
        )
    }

    pub(crate) fn subscribe_at(&self, class: &str, attributes: &[&str], rate: &str) -> Refused {
        plain!(
            self,
            SubscribeObjectClassAttributesWithRateRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
                update_rate_designator: rate.to_owned(),
            }
        )
    }

    pub(crate) fn subscribe_passively_at(&self, class: &str, attributes: &[&str], rate: &str) -> Refused {
        plain!(
            self,
            SubscribeObjectClassAttributesPassivelyWithRateRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
                update_rate_designator: rate.to_owned(),
            }
        )
    }

    pub(crate) fn unsubscribe(&self, class: &str, attributes: &[&str]) -> Refused {
        plain!(
            self,
            UnsubscribeObjectClassAttributesRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
            }
        )
    }

    pub(crate) fn unsubscribe_class(&self, class: &str) -> Refused {
        plain!(self, UnsubscribeObjectClassRequest { object_class: self.class(class) })
    }

    pub(crate) fn publish_interaction(&self, class: &str) -> Refused {
        plain!(self, PublishInteractionClassRequest { interaction_class: self.interaction(class) })
    }

    pub(crate) fn unpublish_interaction(&self, class: &str) -> Refused {
        plain!(self, UnpublishInteractionClassRequest { interaction_class: self.interaction(class) })
    }

    pub(crate) fn subscribe_interaction(&self, class: &str) -> Refused {
        plain!(self, SubscribeInteractionClassRequest { interaction_class: self.interaction(class) })
    }

    pub(crate) fn subscribe_interaction_passively(&self, class: &str) -> Refused {
        plain!(self, SubscribeInteractionClassPassivelyRequest { interaction_class: self.interaction(class) })
    }

    pub(crate) fn unsubscribe_interaction(&self, class: &str) -> Refused {
        plain!(self, UnsubscribeInteractionClassRequest { interaction_class: self.interaction(class) })
    }

    pub(crate) fn publish_directed(&self, class: &str, interactions: &[&str]) -> Refused {
        plain!(
            self,
            PublishObjectClassDirectedInteractionsRequest {
                object_class: self.class(class),
                interaction_classes: self.interactions(interactions),
            }
        )
    }

    pub(crate) fn unpublish_directed(&self, class: &str, interactions: &[&str]) -> Refused {
        plain!(
            self,
            UnpublishObjectClassDirectedInteractionsWithSetRequest {
                object_class: self.class(class),
                interaction_classes: self.interactions(interactions),
            }
        )
    }

    pub(crate) fn unpublish_all_directed(&self, class: &str) -> Refused {
        plain!(self, UnpublishObjectClassDirectedInteractionsRequest { object_class: self.class(class) })
    }

    pub(crate) fn subscribe_directed(&self, class: &str, interactions: &[&str]) -> Refused {
        plain!(
            self,
            SubscribeObjectClassDirectedInteractionsRequest {
                object_class: self.class(class),
                interaction_classes: self.interactions(interactions),
            }
        )
    }

    pub(crate) fn subscribe_universally(&self, class: &str, interactions: &[&str]) -> Refused {
        plain!(
            self,
            SubscribeObjectClassDirectedInteractionsUniversallyRequest {
                object_class: self.class(class),
                interaction_classes: self.interactions(interactions),
            }
        )
    }

    pub(crate) fn unsubscribe_directed(&self, class: &str, interactions: &[&str]) -> Refused {
        plain!(
            self,
            UnsubscribeObjectClassDirectedInteractionsWithSetRequest {
                object_class: self.class(class),
                interaction_classes: self.interactions(interactions),
            }
        )
    }

    pub(crate) fn unsubscribe_all_directed(&self, class: &str) -> Refused {
        plain!(self, UnsubscribeObjectClassDirectedInteractionsRequest { object_class: self.class(class) })
    }
}
