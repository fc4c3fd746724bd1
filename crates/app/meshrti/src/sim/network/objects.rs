//! Simulated objects at the hosts of a network as sources of messages, with the Markov chains of
//! the SRMP paper's workload.

use std::path::Path;

use base::{Moment, Seed};
use netmodel::script::{Line, Reading, Script};
use netmodel::units::Picos;
use workload::analysis::Forecast;
use workload::{Class, Generator, Workload};

/// The workload of one host, with the number of its objects in each class.
#[derive(Debug)]
pub(super) struct Objects(Workload);

/// Reads the workload of a host: a preset with `per_host` objects, or a file relative to `folder`.
///
/// # Errors
/// The workload does not exist or is invalid, or the number of objects is missing or too large.
pub(super) fn read(name: &str, per_host: Option<u32>, folder: &Path) -> Result<Objects, String> {
    workload(name, ("[traffic]", "per_host", per_host), folder).map(Objects)
}

/// Reads a workload: a preset with the number of objects from a key of a table, or a file relative
/// to `folder` that has their number itself.
///
/// # Errors
/// The workload does not exist or is invalid, or the number of objects is missing or too large.
pub(in crate::sim) fn workload(
    name: &str,
    (table, key, count): (&str, &str, Option<u32>),
    folder: &Path,
) -> Result<Workload, String> {
    let preset: Option<fn(u32) -> Workload> = match name {
        "table1" => Some(Workload::table1),
        "full4" => Some(Workload::full4),
        _ => None,
    };
    match (preset, count) {
        (Some(_), None | Some(0)) => Err(format!(
            "{table}: `{name}` is a preset: say in `{key}` how many objects there are, at least 1"
        )),
        (Some(preset), Some(count)) => Ok(preset(count)),
        (None, Some(_)) => Err(format!(
            "{table}: leave `{key}` out: the classes of a workload file have a `count` each (presets are table1 and full4)"
        )),
        (None, None) => {
            let path = folder.join(name);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error} (presets are table1 and full4)", path.display()))?;
            let read = |file: &str| {
                let beside = path.parent().unwrap_or(Path::new("")).join(file);
                std::fs::read_to_string(beside).map_err(|error| error.to_string())
            };
            Workload::parse_with(&text, &read).map_err(|why| format!("{}: {why}", path.display()))
        }
    }
}

impl Script for Objects {
    fn expected(&self, hosts: u32, (from, to): (Picos, Picos)) -> (f64, f64) {
        let run = std::time::Duration::from_secs_f64(to.since(from).as_secs());
        let of_class = |class: &Class| {
            // A workload whose forecast fails was already refused on reading.
            let [zero, one] =
                Forecast::of(class, run).map_or([0.0; 2], |known| [known.mode0.mean, known.mode1.mean]);
            (zero + one, zero * class.size[0].mean() + one * class.size[1].mean())
        };
        let sums = self.0.classes.iter().map(of_class);
        let (messages, bytes) = sums.fold((0.0, 0.0), |sum, class| (sum.0 + class.0, sum.1 + class.1));
        (messages * f64::from(hosts), if messages > 0.0 { bytes / messages } else { 0.0 })
    }

    fn read(&self, hosts: u32, (from, to): (Picos, Picos), seed: Seed) -> Result<Box<dyn Reading>, String> {
        let mut workload = self.0.clone();
        let per_host: Vec<u32> = workload.classes.iter().map(|class| class.count).collect();
        for class in &mut workload.classes {
            class.count = class.count.checked_mul(hosts).ok_or_else(|| {
                format!("{} objects of `{}` at each of {hosts} hosts are too many", class.count, class.name)
            })?;
        }
        let generator = Generator::new(workload, seed.split("objects"), Moment::ZERO);
        let generator = generator.map_err(|why| why.to_string())?;
        Ok(Box::new(Lines { generator, per_host, from, to }))
    }
}

/// The messages of the objects, one object after the other.
struct Lines {
    generator: Generator,
    per_host: Vec<u32>,
    from: Picos,
    to: Picos,
}

impl Reading for Lines {
    fn next(&mut self) -> Option<Line> {
        let length = self.to.since(self.from).0;
        let emission = self.generator.poll(Moment::from_nanos(length.div_ceil(1_000)))?;
        let at = self.from + Picos::from_nanos(emission.at.as_nanos());
        let source = emission.object.number / self.per_host[emission.object.class as usize];
        (at < self.to).then(|| Line { at, source, bytes: u64::from(emission.size) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(objects: &Objects, hosts: u32) -> Vec<Line> {
        let window = (Picos::from_secs(7), Picos::from_secs(107));
        let mut reading = objects.read(hosts, window, Seed(2)).expect("they are few");
        std::iter::from_fn(|| reading.next()).collect()
    }

    #[test]
    fn objects_of_a_host_send_what_the_workload_says() {
        let objects = read("table1", Some(30), Path::new("")).expect("a preset");
        let few = lines(&objects, 2);
        let window = (Picos::from_secs(7), Picos::from_secs(107));
        assert!(few.is_sorted_by_key(|line| line.at));
        assert!(few.iter().all(|line| line.at >= window.0 && line.at < window.1 && line.bytes == 250));
        // Half of the objects move, at 5 messages per second, and half are idle, at 0.5. Each
        // change of state, every 50 s, adds a message.
        let (expected, bytes) = objects.expected(2, window);
        assert!((expected / (60.0 * 100.0 * (2.75 + 0.02)) - 1.0).abs() < 1e-6, "{expected}");
        assert!((few.len() as f64 / expected - 1.0).abs() < 0.2, "{} of {expected}", few.len());
        assert!((bytes - 250.0).abs() < 1e-9, "{bytes}");
        // One more host does not change the messages of the others.
        let more: Vec<Line> = lines(&objects, 3).into_iter().filter(|line| line.source < 2).collect();
        assert_eq!(few, more);
        assert!((0..2).all(|host| few.iter().filter(|line| line.source == host).count() > 3_000));
    }

    #[test]
    fn an_invalid_workload_is_reported() {
        let say = |name, per_host| read(name, per_host, Path::new("nowhere")).map(|_| ()).unwrap_err();
        assert!(say("table1", None).contains("`table1` is a preset: say in `per_host`"));
        assert!(say("full4", Some(0)).contains("at least 1"));
        assert!(say("my.toml", Some(3)).contains("leave `per_host` out"));
        assert!(say("my.toml", None).contains("my.toml") && say("my.toml", None).contains("presets are"));
        let many = read("table1", Some(u32::MAX), Path::new("")).expect("a preset");
        let window = (Picos::ZERO, Picos::from_secs(1));
        let why = many.read(2, window, Seed(1)).map(|_| ()).unwrap_err();
        assert!(why.contains("at each of 2 hosts are too many"), "{why}");
        let many = read("table1", Some(10_000_000), Path::new("")).expect("a preset");
        assert!(many.read(2, window, Seed(1)).map(|_| ()).unwrap_err().contains("at most 10000000"));
    }
}
