import Runtime

/// Whether the files that the settings name are there, and those with secrets are nobody else's to read.
struct FilesCheck: Check {
    let name = "files"
    let isRemote = false
    let patient: Patient

    func examine() async -> Finding {
        var findings = patient.files.map { finding(of: $0.path, $0.setting, holdsSecret: $0.holdsSecret) }
        if let secret = patient.secretsWithin.first {
            findings.append(finding(of: patient.path, secret, holdsSecret: true))
        }
        let secrets = patient.files.count { $0.holdsSecret }
        return .of(
            findings, otherwise: "\(patient.files.count) named in the settings, \(secrets) of them secret; all readable"
        )
    }

    private func finding(of path: String, _ setting: String, holdsSecret: Bool) -> Finding {
        let facts: FileFacts
        do throws(SystemError) {
            _ = try File.regularBytes(at: path)
            facts = try FileFacts(of: path)
        } catch {
            return .wrong("\(setting): \(error)", "Put the file there, readable for the user that runs holdfast.")
        }
        guard holdsSecret, facts.isReadableByEverybody else { return .fine("") }
        return .warning(
            "everybody on this machine can read \(path) (\(setting))", "chmod o-rwx \(path)")
    }
}
