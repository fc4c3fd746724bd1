//! Ownership management (clause 7): queries of ownership.

use super::{Context, Reply, Serve, Served};
use hla::api::*;

impl Serve for QueryAttributeOwnershipRequest {
    fn serve(self, Context { objects, effects, federate, evolved, .. }: Context<'_>) -> Served<()> {
        let (instance, attributes) = (self.object_instance, self.attributes.as_ref());
        objects.query_ownership(effects, federate, instance, attributes, evolved).map(Reply::Now)
    }
}

impl Serve for IsAttributeOwnedByFederateRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<bool> {
        objects.owns(federate, self.object_instance, self.attribute).map(Reply::Now)
    }
}
