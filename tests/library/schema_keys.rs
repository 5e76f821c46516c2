//! The recorded file of DeepSpeed's keys.

mod keys {
    use zlaunch::testing::recorded::Version;
    use zlaunch::testing::schema::value_type::ValueRange;
    use zlaunch::testing::schema::*;
    use zlaunch::testing::tables::ValueType;

    #[test]
    fn the_file_is_sorted_and_every_line_is_found() {
        let keys: Vec<&str> = TEXT.lines().map(key_of).collect();
        assert!(TEXT.is_ascii() && keys.is_sorted() && keys.len() > 450);
        for key in keys {
            assert_eq!(lines_from(key).next().map(key_of), Some(key));
            assert!(
                lines_from(&format!("{key}x"))
                    .next()
                    .is_none_or(|line| key_of(line) != key)
            );
        }
        assert!(TEXT.lines().all(|line| line.split('\t').count() == 7));
    }

    #[test]
    fn every_type_and_range_is_one_that_is_judged() {
        for line in TEXT.lines() {
            let [_, kind, range, ..] = columns(line);
            for kind in history(kind) {
                let kind = kind.trim_start_matches('~').trim_end_matches('?');
                assert!(ValueType::find(kind).is_some(), "{line}");
            }
            assert!(
                history(range).all(|range| ValueRange::find(range).is_some()),
                "{line}"
            );
        }
    }

    fn history(column: &'static str) -> impl Iterator<Item = &'static str> {
        column
            .split(';')
            .map(|part| part.split('@').next().unwrap())
    }

    #[test]
    fn sections_know_their_keys() {
        let names: Vec<_> = names_below("zero_optimization.offload_param").collect();
        assert!(
            names.len() == 6 && names.contains(&"max_in_cpu"),
            "{names:?}"
        );
        assert!(names_below("").any(|name| name == "train_batch_size"));
        assert!(!names_below("").any(|name| name.contains('.')));
        assert!(
            TEXT.lines()
                .all(|line| lines_from(line).next() == Some(line))
        );
        assert_eq!(named("stage3_prefetch_bucket_size", newest()).count(), 1);
    }

    #[test]
    fn a_column_says_what_holds_in_a_version() {
        assert_eq!(at("int", newest()), "int");
        for (version, holds) in [
            ("0.14.3", "c"),
            ("0.14.4", "b"),
            ("0.16.5", "b"),
            ("0.16.6", "a"),
            ("0.20.0", "a"),
        ] {
            assert_eq!(
                at("a@0.16.6;b@0.14.4;c", Version::parse(version)),
                holds,
                "{version}"
            );
        }
    }
}
