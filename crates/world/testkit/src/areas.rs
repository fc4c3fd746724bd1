//! Measures what crosses the links when each node is interested in an area of the world.
//!
//! There are no faults here. Whole nodes in a full mesh have a federate each. Its entities move over a
//! square and are updated once a second, and it is interested in a box. The question is how many octets
//! a node receives for each update that its box wants, and whether that depends on the number of nodes.

use crate::cluster::{Cluster, Failure};
use crate::draw::Draw;
use crate::observation::Observation;
use crate::options::{Options, Shape};
use base::Seed;
use hla::api::{self, call_response::CallResponse as Answer, callback_request::CallbackRequest as Callback};
use hla::handle::{AttributeHandle, DimensionHandle, ObjectClassHandle, ObjectInstanceHandle, RegionHandle};
use std::time::Duration;

/// Longest time that nodes may take to find each other, or answers may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longer than all consequences of a change take.
const CALM: Duration = Duration::from_secs(3);
/// Entities are updated once in this many steps.
const STEPS: usize = 20;
/// Time of a step.
const STEP: Duration = Duration::from_millis(50);
/// The greatest coordinate: a thousand kilometres, in metres.
const WORLD_MAX: u32 = 1_000_000;

/// The settings of a run. Lengths are in metres.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Number of nodes; at least 2.
    pub nodes: usize,
    /// Entities at each node.
    pub entities: usize,
    /// The side of the square over which they move.
    pub world: u32,
    /// The side of the box that a node is interested in. `None`: it is interested in everything, and
    /// there are no regions.
    pub interest: Option<u32>,
    /// An entity's region is the cell of this side in which it is.
    pub cell: u32,
    /// Metres per second.
    pub speed: u32,
    /// Octets of an update's value.
    pub value_bytes: usize,
    /// Seconds before the measurement. In the first few, senders learn how much each node wants. Each
    /// node is then told of the first move of each region out of its sight, but not of further ones.
    pub warm_up: usize,
    /// Measured seconds.
    pub seconds: usize,
    /// The seed of places and directions.
    pub seed: Seed,
}

/// The results of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Updates that the federates sent.
    pub updates: u64,
    /// Updates with which a region moved to another cell.
    pub moves: u64,
    /// Updates that federates of other nodes received, which are those that they want.
    pub received: u64,
    /// Octets of frames of routers and peer messages over all links.
    pub bytes: u64,
}

/// Runs the settings. `progress` gets the second that begins, and their number.
///
/// # Errors
/// An expected event did not occur in time, or a federate was refused or lost.
pub fn run(settings: &Settings, progress: impl FnMut(usize, usize)) -> Result<Report, String> {
    if settings.nodes < 2 || settings.entities == 0 || !(1..=WORLD_MAX).contains(&settings.world) {
        return Err(format!("there are at least 2 nodes with entities, and at most {WORLD_MAX} m"));
    }
    if settings.cell == 0 || settings.interest.is_some_and(|side| side == 0 || side > settings.world) {
        return Err("an area of interest has some extent, and is a part of the world".to_owned());
    }
    let mut run = Run::new(settings);
    run.run(progress).map_err(|failure| failure.violation.to_string())?;
    Ok(run.report)
}

struct Entity {
    place: [f64; 2],
    /// Metres per second.
    velocity: [f64; 2],
    region: Option<RegionHandle>,
    cell: [u32; 2],
    instance: Option<ObjectInstanceHandle>,
}

struct Fed {
    interest: Option<RegionHandle>,
    entities: Vec<Entity>,
}

struct Run<'a> {
    settings: &'a Settings,
    cluster: Cluster,
    class: ObjectClassHandle,
    attribute: AttributeHandle,
    dimensions: [DimensionHandle; 2],
    feds: Vec<Fed>,
    draw: Draw,
    report: Report,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings) -> Self {
        const THERE: &str = "the model has it";
        let (shape, nodes) = (Shape::mesh(settings.nodes, 0), settings.nodes);
        let mut options = Options::for_counting(settings.seed, shape, nodes, module());
        options.delays = vec![Duration::from_micros(1)];
        options.homes = Some((0..nodes).collect());
        let cluster = Cluster::new(options);
        let model = &cluster.known(cluster.federates()[0]).model;
        let class = model.object_class_by_name("Entity").expect(THERE);
        let attribute = model.attribute_by_name(class, "state").expect(THERE);
        let dimensions = ["X", "Y"].map(|name| model.dimension_by_name(name).expect(THERE));
        let mut draw = Draw::new(settings.seed, "areas");
        let feds = (0..nodes).map(|_| Fed {
            interest: None,
            entities: (0..settings.entities).map(|_| Entity::new(&mut draw, settings)).collect(),
        });
        let feds = feds.collect();
        Self { settings, cluster, class, attribute, dimensions, feds, draw, report: Report::default() }
    }

    fn run(&mut self, mut progress: impl FnMut(usize, usize)) -> Result<(), Failure> {
        self.cluster.wait_for_members(PATIENCE)?;
        self.cluster.run_for(CALM)?;
        self.cluster.join_all()?;
        self.cluster.record();
        self.declare()?;
        self.register()?;
        self.cluster.run_for(CALM)?;
        let all = self.settings.warm_up + self.settings.seconds;
        let mut before = self.cluster.sent_frames();
        for second in 0..all {
            progress(second, all);
            if second == self.settings.warm_up {
                self.watch(|_, _| {});
                self.report = Report::default();
                before = self.cluster.sent_frames();
            }
            for step in 0..STEPS {
                self.step(step)?;
            }
        }
        self.cluster.run_for(CALM)?;
        self.watch(|_, _| {});
        self.report.bytes = self.cluster.sent_frames().since(&before).service_bytes;
        Ok(())
    }

    /// Every federate publishes, and subscribes its area.
    fn declare(&mut self) -> Result<(), Failure> {
        let (class, attribute) = (Some(self.class), self.attribute);
        let attributes = || Some(api::AttributeHandleSet { attribute_handle: vec![attribute] });
        for at in 0..self.feds.len() {
            self.act(
                at,
                api::PublishObjectClassAttributesRequest { object_class: class, attributes: attributes() },
            )?;
        }
        let Some(side) = self.settings.interest else {
            for at in 0..self.feds.len() {
                let attributes = attributes();
                self.act(at, api::SubscribeObjectClassAttributesRequest { object_class: class, attributes })?;
            }
            return self.cluster.settle_calls(PATIENCE);
        };
        self.create_regions(|fed, region| fed.interest = Some(region))?;
        for at in 0..self.feds.len() {
            let room = u64::from(self.settings.world - side) + 1;
            let corner = [self.draw.below(room) as u32, self.draw.below(room) as u32];
            let region = self.feds[at].interest;
            self.place(at, region, corner, side)?;
            let attributes_and_regions = self.pair(region);
            self.act(
                at,
                api::SubscribeObjectClassAttributesWithRegionsRequest {
                    object_class: class,
                    attributes_and_regions,
                    active: true,
                },
            )?;
        }
        self.cluster.settle_calls(PATIENCE)
    }

    /// Every federate registers its entities.
    fn register(&mut self) -> Result<(), Failure> {
        for entity in 0..self.settings.entities {
            if self.settings.interest.is_some() {
                self.create_regions(|fed, region| fed.entities[entity].region = Some(region))?;
            }
            for at in 0..self.feds.len() {
                let Entity { region, cell, .. } = self.feds[at].entities[entity];
                let object_class = Some(self.class);
                if region.is_none() {
                    self.act(at, api::RegisterObjectInstanceRequest { object_class })?;
                    continue;
                }
                self.place(at, region, cell, self.settings.cell)?;
                let attributes_and_regions = self.pair(region);
                self.act(
                    at,
                    api::RegisterObjectInstanceWithRegionsRequest { object_class, attributes_and_regions },
                )?;
            }
            self.cluster.settle_calls(PATIENCE)?;
            self.watch(|fed, answer| {
                let instance = match answer {
                    Answer::RegisterObjectInstanceResponse(registered) => registered.result,
                    Answer::RegisterObjectInstanceWithRegionsResponse(registered) => registered.result,
                    _ => return,
                };
                fed.entities[entity].instance = instance;
            });
        }
        Ok(())
    }

    /// Some of the entities are updated.
    fn step(&mut self, step: usize) -> Result<(), Failure> {
        for at in 0..self.feds.len() {
            for entity in (step..self.settings.entities).step_by(STEPS) {
                let moved = self.feds[at].entities[entity].advance(self.settings);
                let Entity { instance, region, cell, .. } = self.feds[at].entities[entity];
                self.report.updates += 1;
                if moved && region.is_some() {
                    self.report.moves += 1;
                    self.place(at, region, cell, self.settings.cell)?;
                }
                // The invariants of the cluster follow each update by its stamp.
                let user_supplied_tag = self.cluster.stamp(self.cluster.federates()[at]);
                let mut value = user_supplied_tag.to_vec();
                value.resize(self.settings.value_bytes.max(value.len()), 0);
                let (attribute_handle, value) = (Some(self.attribute), value.into());
                let attribute_handle_value = vec![api::AttributeHandleValue { attribute_handle, value }];
                let attribute_values = Some(api::AttributeHandleValueMap { attribute_handle_value });
                let object_instance = instance;
                self.act(
                    at,
                    api::UpdateAttributeValuesRequest {
                        object_instance,
                        attribute_values,
                        user_supplied_tag,
                    },
                )?;
            }
        }
        self.cluster.run_for(STEP)?;
        self.watch(|_, _| {});
        Ok(())
    }

    /// Every federate creates a region.
    fn create_regions(&mut self, mut keep: impl FnMut(&mut Fed, RegionHandle)) -> Result<(), Failure> {
        for at in 0..self.feds.len() {
            let dimension_handle = self.dimensions.to_vec();
            let dimensions = Some(api::DimensionHandleSet { dimension_handle });
            self.act(at, api::CreateRegionRequest { dimensions })?;
        }
        self.cluster.settle_calls(PATIENCE)?;
        self.watch(|fed, answer| {
            if let Answer::CreateRegionResponse(api::CreateRegionResponse { result: Some(region) }) = answer {
                keep(fed, *region);
            }
        });
        Ok(())
    }

    /// Moves a region to a square.
    fn place(
        &mut self,
        at: usize,
        region: Option<RegionHandle>,
        corner: [u32; 2],
        side: u32,
    ) -> Result<(), Failure> {
        for (dimension, lower) in self.dimensions.into_iter().zip(corner) {
            let range_bounds = Some(api::RangeBounds { lower, upper: (lower + side).min(WORLD_MAX) });
            let dimension = Some(dimension);
            self.act(at, api::SetRangeBoundsRequest { region, dimension, range_bounds })?;
        }
        let regions = Some(api::RegionHandleSet { region_handle: region.into_iter().collect() });
        self.act(at, api::CommitRegionModificationsRequest { regions })
    }

    fn pair(&self, region: Option<RegionHandle>) -> Option<api::AttributeSetRegionSetPairList> {
        let pair = api::AttributeSetRegionSetPair {
            attribute_set: Some(api::AttributeHandleSet { attribute_handle: vec![self.attribute] }),
            region_set: Some(api::RegionHandleSet { region_handle: region.into_iter().collect() }),
        };
        Some(api::AttributeSetRegionSetPairList { attribute_set_region_set_pair: vec![pair] })
    }

    fn act<R: api::Request>(&mut self, at: usize, request: R) -> Result<(), Failure> {
        self.cluster.act(self.cluster.federates()[at], request.into_call())
    }

    /// Reads what the federates have got.
    fn watch(&mut self, mut take: impl FnMut(&mut Fed, &Answer)) {
        for (host, seen) in self.cluster.recorded() {
            let Some(at) = self.cluster.federates().iter().position(|known| known == host) else { continue };
            match &seen.observation {
                Observation::Received { callback: Callback::ReflectAttributeValues(_), .. } => {
                    self.report.received += 1;
                }
                Observation::Got { answer: Answer::ExceptionData(data), .. } => {
                    panic!("{host}: {}: {}", data.exception_name, data.details)
                }
                Observation::Got { answer, .. } => take(&mut self.feds[at], answer),
                Observation::Over { reason, .. } => panic!("{host}: {reason}"),
                _ => {}
            }
        }
        self.cluster.record();
    }
}

impl Entity {
    fn new(draw: &mut Draw, settings: &Settings) -> Self {
        let side = u64::from(settings.world);
        let place = [draw.below(side) as f64, draw.below(side) as f64];
        let angle = draw.below(3_600) as f64 / 1_800.0 * std::f64::consts::PI;
        let velocity = [angle.cos(), angle.sin()].map(|part| part * f64::from(settings.speed));
        let mut entity = Self { place, velocity, region: None, cell: [0; 2], instance: None };
        entity.cell = entity.current_cell(settings);
        entity
    }

    /// Moves for a second. Returns whether it has left its cell.
    fn advance(&mut self, settings: &Settings) -> bool {
        let most = f64::from(settings.world) - 1.0;
        for (place, velocity) in self.place.iter_mut().zip(&mut self.velocity) {
            *place += *velocity;
            if !(0.0..=most).contains(place) {
                *velocity = -*velocity;
                *place = place.clamp(0.0, most);
            }
        }
        let cell = self.current_cell(settings);
        std::mem::replace(&mut self.cell, cell) != cell
    }

    fn current_cell(&self, settings: &Settings) -> [u32; 2] {
        self.place.map(|place| place as u32 / settings.cell * settings.cell)
    }
}

/// A FOM module with one class in two dimensions.
fn module() -> String {
    let dimension = |name: &str| {
        format!(
            "<dimension><name>{name}</name><upperBound>{WORLD_MAX}</upperBound><value>Excluded</value></dimension>"
        )
    };
    format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
         <name>HLAobjectRoot</name><objectClass><name>Entity</name>\
         <dimensions><dimension>X</dimension><dimension>Y</dimension></dimensions>\
         <attribute><name>state</name><dataType>HLAopaqueData</dataType>\
         <transportation>HLAreliable</transportation><order>Receive</order></attribute></objectClass>\
         </objectClass></objects><dimensions>{}{}</dimensions></objectModel>",
        dimension("X"),
        dimension("Y"),
    )
}
