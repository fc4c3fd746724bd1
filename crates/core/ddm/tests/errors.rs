//! Mistakes of the caller: each is refused, and has no effect.

use ddm::{DIMENSIONS_MAX, Error, Matching, Population, REGIONS_MAX, Range};

fn range(lower: u32, upper: u32) -> Range {
    Range::new(lower, upper).expect("it has values")
}

#[test]
fn a_range_has_values() {
    assert_eq!(Range::new(5, 5), Err(Error::EmptyRange { lower: 5, upper: 5 }));
    assert_eq!(Range::new(6, 5), Err(Error::EmptyRange { lower: 6, upper: 5 }));
    assert_eq!(Error::EmptyRange { lower: 6, upper: 5 }.to_string(), "the range [6, 5) has no value");
}

#[test]
fn a_matching_has_one_to_thirty_two_dimensions() {
    for asked in [0, DIMENSIONS_MAX + 1] {
        assert_eq!(Matching::new(asked).err(), Some(Error::Dimensions { asked }));
    }
    assert!(Matching::new(1).is_ok() && Matching::new(DIMENSIONS_MAX).is_ok());
}

#[test]
fn a_region_has_a_range_for_each_dimension() {
    let mut matching = Matching::new(2).expect("two dimensions");
    let wrong = Err(Error::Ranges { given: 1, expected: 2 });
    assert_eq!(matching.insert(Population::Update, 1, &[range(0, 5)]), wrong);
    assert_eq!(matching.overlapping(Population::Update, &[range(0, 5)], &mut Vec::new()), wrong);
    matching.insert(Population::Update, 1, &[range(0, 5), Range::FULL]).expect("a region");
    assert_eq!(matching.modify(Population::Update, 1, &[range(0, 5)]), wrong);
    assert_eq!(matching.regions(Population::Update), 1);
}

#[test]
fn ids_are_small() {
    let mut matching = Matching::new(1).expect("one dimension");
    let id = REGIONS_MAX as u32;
    assert_eq!(matching.insert(Population::Update, id, &[Range::FULL]), Err(Error::Id { id }));
    assert_eq!(matching.modify(Population::Update, id, &[Range::FULL]), unknown(id));
    assert_eq!(matching.remove(Population::Update, u32::MAX), unknown(u32::MAX));
    assert_eq!(matching.bytes(), 0, "a refused region takes no memory");
}

fn unknown(id: u32) -> Result<(), Error> {
    Err(Error::Unknown { population: Population::Update, id })
}
