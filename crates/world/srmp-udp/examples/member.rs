//! Two members of an SRMP group on the loopback interface, without HLA.
#![allow(clippy::print_stdout)] // an example shows what it does

use srmp::Event;
use srmp::model::{DataId, Profile};
use srmp_udp::{HostConfig, SrmpHost};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let member = || {
        let mut config = HostConfig::new("239.255.44.10:4410".parse()?, Profile::V3)?;
        config.interface = "lo".parse()?;
        Ok::<_, Box<dyn std::error::Error>>(SrmpHost::open(config)?)
    };
    let (sender, _its_events) = member()?;
    let (listener, mut events) = member()?;
    sender.send1(DataId(7), "the door is open".into(), false)?;
    while let Some(event) = events.recv().await {
        if let Event::Mode1 { from, data, body, .. } = event {
            println!("{from} says of {data}: {}", String::from_utf8_lossy(&body));
            break;
        }
    }
    listener.leave().await;
    sender.leave().await;
    Ok(())
}
