//! Processes with their programs, and the event loop.

use base::Moment;
use workload::phases::Order;

use crate::federate_process::FederateProcess;
use crate::node::Node;
use crate::scheduler::ProcessId;
use crate::wires::{Event, Turn, Wires};

/// The program of a process.
pub(crate) enum Program {
    Node(Box<Node>),
    FederateProcess(FederateProcess),
}

impl Program {
    fn turn(&mut self, turn: &mut Turn<'_>) {
        match self {
            Program::Node(node) => node.turn(turn),
            Program::FederateProcess(federate_process) => federate_process.turn(turn),
        }
    }

    fn poll_timeout(&self) -> Option<Moment> {
        match self {
            Program::Node(node) => node.poll_timeout(),
            Program::FederateProcess(federate_process) => federate_process.poll_timeout(),
        }
    }
}

/// The simulated world.
pub(crate) struct World {
    pub(crate) wires: Wires,
    programs: Vec<Program>,
}

impl World {
    pub(crate) fn new(wires: Wires) -> Self {
        Self { wires, programs: Vec::new() }
    }

    /// Adds a process to a computer, which begins at once. `core` counts only if processes are
    /// pinned.
    pub(crate) fn add(&mut self, computer: usize, core: u32, program: Program) -> ProcessId {
        self.programs.push(program);
        self.wires.add_process(computer, core)
    }

    pub(crate) fn now(&self) -> Moment {
        self.wires.now
    }

    /// Nodes, in the order in which they were added.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.programs.iter().filter_map(|program| match program {
            Program::Node(node) => Some(&**node),
            Program::FederateProcess(_) => None,
        })
    }

    /// Processes of federates, in the order in which they were added.
    pub(crate) fn federate_processes(&self) -> impl Iterator<Item = &FederateProcess> {
        self.programs.iter().filter_map(|program| match program {
            Program::FederateProcess(federate_process) => Some(federate_process),
            Program::Node(_) => None,
        })
    }

    /// Lets the federates of a process begin their tasks.
    pub(crate) fn begin(&mut self, process: ProcessId) {
        if let Some(federate_process) = self.federate_process(process) {
            federate_process.begin();
            self.wires.wake(process);
        }
    }

    /// Gives the federates of a process an order.
    pub(crate) fn order(&mut self, process: ProcessId, order: Order) {
        if let Some(federate_process) = self.federate_process(process) {
            federate_process.order(order);
            self.wires.wake(process);
        }
    }

    /// The process of federates with this number.
    pub(crate) fn federate_process(&mut self, process: ProcessId) -> Option<&mut FederateProcess> {
        match &mut self.programs[process.0 as usize] {
            Program::FederateProcess(federate_process) => Some(federate_process),
            Program::Node(_) => None,
        }
    }

    /// The same, to look at.
    pub(crate) fn process_of_federates(&self, process: ProcessId) -> Option<&FederateProcess> {
        match &self.programs[process.0 as usize] {
            Program::FederateProcess(federate_process) => Some(federate_process),
            Program::Node(_) => None,
        }
    }

    /// Handles all events up to and including `until`.
    pub(crate) fn run_until(&mut self, until: Moment) {
        while let Some((at, event)) = self.wires.queue.pop_until(until) {
            self.wires.now = at;
            self.wires.events += 1;
            match event {
                Event::Run(process) => {
                    let mut turn = self.wires.begin(process);
                    self.programs[process.0 as usize].turn(&mut turn);
                    turn.finish();
                }
                Event::Done(process) => {
                    let timer = self.programs[process.0 as usize].poll_timeout();
                    self.wires.end(process, timer);
                }
                Event::Timer(process) => self.wires.timer(process),
                Event::Arrived(slot) => self.wires.arrived(slot),
                Event::AtSwitch(slot) => self.wires.at_switch(slot),
            }
        }
        self.wires.now = self.wires.now.max(until);
    }
}
