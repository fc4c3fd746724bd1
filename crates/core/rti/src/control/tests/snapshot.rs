//! Snapshots and the wire form.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_same_commands_give_the_same_octets(commands in history()) {
        prop_assert_eq!(run(&commands).snapshot(), run(&commands).snapshot());
        for command in commands {
            prop_assert_eq!(Command::from_bytes(&command.to_bytes()), Ok(command));
        }
    }

    #[test]
    fn a_restored_plane_goes_on_as_the_one_it_was_taken_from(
        commands in history(),
        (cut, before) in (0usize..81, 0usize..81),
    ) {
        let cut = cut.min(commands.len());
        let mut plane = run(&commands[..cut]);
        let snapshot = plane.snapshot();
        let previous = run(&commands[..before.min(cut)]);
        let mut restored = restore(&snapshot, &previous).unwrap();
        prop_assert_eq!(restored.snapshot(), snapshot);
        for command in &commands[cut..] {
            prop_assert_eq!(restored.apply(command.clone()), plane.apply(command.clone()));
        }
        prop_assert_eq!(restored.snapshot(), plane.snapshot());
    }

    #[test]
    fn damaged_octets_are_refused_or_taken_but_never_break_anything(
        commands in history(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        more in proptest::collection::vec(command(), 0..10),
    ) {
        let mut octets = run(&commands).snapshot().to_vec();
        for (place, octet) in damage {
            // Most octets are text. The structure comes before and after it.
            let place = place.index(octets.len());
            octets[place] = octet;
        }
        if let Some(cut) = cut {
            octets.truncate(cut.index(octets.len()));
        }
        if let Ok(mut plane) = restore(&octets, &ControlPlane::default()) {
            for command in more {
                let _outcome = plane.apply(command);
            }
            let again = plane.snapshot();
            prop_assert_eq!(restore(&again, &plane).map(|plane| plane.snapshot()), Ok(again));
        }
    }

    #[test]
    fn any_octets_are_refused_or_taken(octets: Vec<u8>, versioned: bool) {
        let mut octets = octets;
        if versioned {
            octets.insert(0, 1);
        }
        if let Ok(command) = Command::from_bytes(&octets) {
            let _outcome = plane().apply(command);
        }
        if let Ok(plane) = restore(&octets, &ControlPlane::default()) {
            plane.snapshot();
        }
    }
}

fn refusal(octets: &[u8]) -> String {
    match restore(octets, &ControlPlane::default()) {
        Ok(_) => "taken".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let create = Command::Create {
        federation: "Exercise".to_owned(),
        mim: None,
        modules: modules()[..2].to_vec(),
        time: String::new(),
        directive: ResignAction::NoAction,
    };
    let snapshot = run(std::slice::from_ref(&create)).snapshot().to_vec();
    assert_eq!(refusal(&snapshot), "taken");
    assert_eq!(refusal(&[]), "no snapshot: it is empty");
    assert_eq!(refusal(&[9, 1, 2]), "a snapshot in version 9 of its form; this node reads version 7");
    let longer = [&snapshot[..], b"xyz"].concat();
    assert_eq!(refusal(&longer), format!("no snapshot: 3 of its {} octets are left over", longer.len()));
    assert!(refusal(&snapshot[..40]).starts_with("no snapshot: "), "{}", refusal(&snapshot[..40]));
    let command = create.to_bytes();
    assert!(Command::from_bytes(&command[..9]).unwrap_err().to_string().starts_with("no command: "));

    let broken = replace(&snapshot, b"<name>C</name>", b"<name>C<oopsy>");
    let why = refusal(&broken);
    assert!(why.contains("contradicts itself: federation execution `Exercise`"), "{why}");
    assert!(why.contains("1.xml"), "{why}");
    let twice = replace(&snapshot, b"1.xml", b"0.xml");
    assert_eq!(refusal(&twice), "taken", "names of modules need not differ");
}

/// `octets` with the only `from` in it replaced.
fn replace(octets: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let places: Vec<_> = octets.windows(from.len()).enumerate().filter(|(_, part)| *part == from).collect();
    let place = places.first().expect("it is there").0;
    let mut replaced = octets.to_vec();
    replaced.splice(place..place + from.len(), to.iter().copied());
    replaced
}

#[test]
fn limits_on_modules_are_those_of_the_node_that_began() {
    let strict = Limits { classes: 1, ..Limits::default() };
    let mut began = ControlPlane::new(strict);
    let mut joined = restore(&began.snapshot(), &plane()).unwrap();
    let create = Command::Create {
        federation: "F".to_owned(),
        mim: None,
        modules: modules(),
        time: String::new(),
        directive: ResignAction::NoAction,
    };
    let refused = began.apply(create.clone()).unwrap_err();
    assert_eq!(joined.apply(create.clone()), Err(refused));
    assert!(plane().apply(create).is_ok());
}

#[test]
fn absurd_limits_are_refused() {
    let deep = ControlPlane::new(Limits { depth: 1 << 40, ..Limits::default() });
    assert!(refusal(&deep.snapshot()).contains("at most 1024"), "{}", refusal(&deep.snapshot()));
}
