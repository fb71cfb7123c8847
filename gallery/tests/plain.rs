//! The cases on the simulator as it is, without its checker.

use rungs_gallery::{Simulated, Trial, all};
use std::collections::HashSet;

#[test]
fn clean_twins_put_out_what_the_input_demands() {
    let on = Simulated::default();
    let wrong: Vec<String> = all()
        .filter_map(|(_, case)| {
            let why = match (case.run)(&Trial::new(&on, true)) {
                Ok(ended) => ended.difference()?,
                Err(error) => error.to_string(),
            };
            Some(format!("{}: {why}", case.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_case_has_a_name_of_its_own_and_its_source() {
    let mut names = HashSet::new();
    for (topic, case) in all() {
        assert!(names.insert(case.name), "{} stands twice", case.name);
        let (kernels, launches) = (topic.kernels(case), topic.launches(case));
        let name = case.name.replace('-', "_");
        assert!(kernels.iter().any(|text| text.contains(&format!("fn {name}"))), "{}: {kernels:?}", case.name);
        assert!(kernels.iter().all(|text| text.ends_with('}')), "{}: {kernels:?}", case.name);
        assert!(launches.contains(&name), "{}: {launches}", case.name);
        // The two versions differ in the kernel or in the launch.
        assert!((kernels.concat() + launches).contains("FIXED") || launches.contains("on.fixed"), "{}", case.name);
    }
    assert!(names.len() >= 60, "{} cases", names.len());
}
