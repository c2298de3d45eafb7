internal import Glibc
internal import Runtime
package import Time

/// Keeping an authority in a folder, so that a restarted simulator has the same root.
extension CertificateAuthority {
    private enum Name {
        static func certificate(_ name: String) -> String { "\(name).pem" }
        static func key(_ name: String) -> String { "\(name).key.pem" }
    }

    /// The authority in `folder`, made and saved there (at `now`) if there is none yet.
    package init(inFolder folder: String, now: Timestamp) throws(SigningError) {
        if unsafe access("\(folder)/\(Name.certificate("leaf"))", F_OK) == 0 {
            try self.init(loadingFrom: folder)
        } else {
            try self.init(makingAt: now)
            try save(to: folder)
        }
    }

    /// Reads what `save(to:)` wrote.
    package init(loadingFrom folder: String) throws(SigningError) {
        func member(_ name: String) throws(SigningError) -> Member {
            let text = try readText("\(folder)/\(Name.certificate(name))")
            guard let certificate = PEM.decode(text, label: "CERTIFICATE")?.first else {
                throw SigningError(.file, "\(folder)/\(Name.certificate(name)) holds no certificate")
            }
            let key = try SigningKey(pem: try readText("\(folder)/\(Name.key(name))"))
            return Member(certificate: certificate, key: key)
        }
        self.init(root: try member("root"), intermediate: try member("intermediate"), leaf: try member("leaf"))
    }

    /// Writes certificates and keys into `folder`, made if missing; keys only for the owner's eyes. The leaf's
    /// certificate comes last: where it is, everything is.
    package func save(to folder: String) throws(SigningError) {
        if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST {
            throw SigningError(.file, "cannot make \(folder): errno \(errno)")
        }
        for (name, member) in [("root", root), ("intermediate", intermediate), ("leaf", leaf)] {
            try writeFile("\(folder)/\(Name.key(name))", Array(member.key.pem().utf8), mode: 0o600)
            let certificate = PEM.encode(member.certificate, label: "CERTIFICATE")
            try writeFile("\(folder)/\(Name.certificate(name))", Array(certificate.utf8), mode: 0o644)
        }
    }
}

private func readText(_ path: String) throws(SigningError) -> String {
    do { return try File.text(at: path, limit: 1 << 16) } catch { throw SigningError(.file, "\(error)") }
}

private func writeFile(_ path: String, _ bytes: [UInt8], mode: mode_t) throws(SigningError) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw SigningError(.file, "cannot open \(path): errno \(errno)") }
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw SigningError(.file, "cannot write \(path): errno \(errno)") }
        rest = rest.dropFirst(count)
    }
}
