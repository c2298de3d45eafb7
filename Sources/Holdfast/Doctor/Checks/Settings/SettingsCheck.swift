import Entitlements

/// Whether the settings can be meant; all that is wrong is named at once.
struct SettingsCheck: Check {
    let name = "settings"
    let isRemote = false
    let patient: Patient

    func examine() async -> Finding {
        guard patient.mistakes.isEmpty else {
            let count = patient.mistakes.count == 1 ? "1 mistake" : "\(patient.mistakes.count) mistakes"
            return Finding(
                verdict: .wrong,
                sentence: "\(patient.path) has \(count); where a value is wrong, the rest goes by its default",
                remedies: patient.mistakes)
        }
        let apps = patient.settings.apps.map(\.id.rawValue).joined(separator: ", ")
        return .fine("\(patient.path); apps: \(apps)")
    }
}
