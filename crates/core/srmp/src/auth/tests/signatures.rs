//! Tests of signatures: the source of a message.

use super::*;

const ORIGIN: Origin = Origin { member: SENDER, epoch: EPOCH };

fn signed(signer: &mut Signer) -> Mode1 {
    let mut message = Mode1 {
        origin: None,
        dsn: Dsn { data: DataId(9), sn: Sn(1), segments: 3 },
        index: 2,
        flags: Mode1Flags::empty(),
        body: Bytes::from_static(b"HULL"),
        signature: None,
    };
    message.signature = Some(signer.sign(ORIGIN, &message));
    message
}

#[test]
fn only_what_the_source_said_is_believed() {
    let mut signer = Signer::new(&[1; 32], session()).unwrap();
    let mut verifier = Verifier::new(session());
    let message = signed(&mut signer);
    assert_eq!(verifier.verify(ORIGIN, &message), Err(SignatureError::UnknownMember { member: SENDER }));
    verifier.trust(SENDER, signer.verifying_key());
    verifier.trust(MemberId(2), Signer::new(&[2; 32], session()).unwrap().verifying_key());
    assert_eq!(verifier.verify(ORIGIN, &message), Ok(()));
    let repaired = Mode1 { flags: Mode1Flags::REPAIR, origin: Some(ORIGIN), ..message.clone() };
    assert_eq!(verifier.verify(ORIGIN, &repaired), Ok(()), "a logger passes it on");

    let forged = Err(SignatureError::Forged { member: SENDER });
    let dsn = message.dsn;
    for changed in [
        Mode1 { dsn: Dsn { data: DataId(10), ..dsn }, ..message.clone() },
        Mode1 { dsn: Dsn { sn: Sn(2), ..dsn }, ..message.clone() },
        Mode1 { dsn: Dsn { segments: 4, ..dsn }, ..message.clone() },
        Mode1 { index: 1, ..message.clone() },
        Mode1 { body: Bytes::from_static(b"HULK"), ..message.clone() },
        Mode1 { signature: Some(Signature([0; 64])), ..message.clone() },
    ] {
        assert_eq!(verifier.verify(ORIGIN, &changed), forged);
    }
    assert_eq!(verifier.verify(Origin { epoch: Epoch(8), ..ORIGIN }, &message), forged);
    let of_other = SignatureError::Forged { member: MemberId(2) };
    assert_eq!(verifier.verify(Origin { member: MemberId(2), ..ORIGIN }, &message), Err(of_other));
    let unsigned = Mode1 { signature: None, ..message.clone() };
    assert_eq!(verifier.verify(ORIGIN, &unsigned), Err(SignatureError::Missing { member: SENDER }));
    let mut elsewhere = Verifier::new(session() ^ 1);
    elsewhere.trust(SENDER, signer.verifying_key());
    assert_eq!(elsewhere.verify(ORIGIN, &message), forged);
    assert!(verifier.distrust(SENDER) && !verifier.distrust(SENDER));
    assert!(verifier.verify(ORIGIN, &message).is_err());
}
