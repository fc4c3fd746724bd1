//! The abilities of this machine's loopback interface.

use std::net::{Ipv4Addr, UdpSocket};

/// Whether multicast works over loopback here.
pub(crate) fn has_multicast() -> bool {
    let works = || -> std::io::Result<usize> {
        let group = Ipv4Addr::new(239, 255, 44, 40);
        let hears = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        hears.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)?;
        hears.set_read_timeout(Some(std::time::Duration::from_secs(2)))?;
        let speaks = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        speaks.send_to(b"anybody", (group, hears.local_addr()?.port()))?;
        hears.recv(&mut [0; 16])
    };
    let works = works();
    if works.is_err() {
        eprintln!("SKIPPED: this machine has no multicast over loopback: {works:?}");
    }
    works.is_ok()
}
