//! Who a node is.

crate::id! {
    /// One start of one node: drawn at random by the world, never 0 and never used again. A node that is
    /// started anew is another one.
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct NodeKey(u64) as "k";
}
