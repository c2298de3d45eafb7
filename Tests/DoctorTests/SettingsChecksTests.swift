import AppStore
import Glibc
import Runtime
import TestSupport
import Testing
import Time

/// What the doctor sees without asking anybody.
@Suite struct SettingsChecksTests {
    @Test func everyMistakeIsListedWithTheNearestName() async throws {
        let examinee = try Examinee(#","broker":{"hots":"rabbit","port":99999}"#)
        let result = try await examinee.examine("--no-network")
        #expect(result.exitCode == 1)
        #expect(result["settings"].status == "wrong")
        #expect(result["settings"].detail.contains("has 2 mistakes"))
        #expect(
            result["settings"].remedies == [
                #"broker.port: must be from 1 to 65535, not "99999""#,
                "broker.hots: there is no such setting; did you mean broker.host?",
            ])
        #expect(result["rabbitmq"].status == "notChecked")
        #expect(result["rabbitmq"].detail == "--no-network")
    }

    @Test func aSecretThatEverybodyCanReadIsNamed() async throws {
        let examinee = try Examinee(#","redis":{"passwordFile":"/proc/self/root/nowhere"}"#)
        let password = try examinee.write("s3cr3t", to: "redis.password", permissions: 0o644)
        let open = try Examinee(#","redis":{"passwordFile":"\#(password)"}"#)
        let result = try await open.examine("--no-network")
        #expect(result["files"].status == "warning")
        #expect(result["files"].detail == "everybody on this machine can read \(password) (redis.passwordFile)")
        #expect(result["files"].remedies == ["chmod o-rwx \(password)"])
        #expect(try await open.examine("--no-network", "--strict").exitCode == 1)

        let missing = try await examinee.examine("--no-network")
        #expect(missing["files"].status == "wrong")
        #expect(missing["files"].detail.contains("No such file or directory"))
    }

    @Test func aSettingsFileWithASecretInItIsASecretItself() async throws {
        let examinee = try Examinee(#","redis":{"password":"s3cr3t"}"#)
        #expect(try await examinee.examine("--no-network")["files"].status == "fine")
        chmod(examinee.settings, 0o644)
        let result = try await examinee.examine("--no-network")
        #expect(result["files"].detail == "everybody on this machine can read \(examinee.settings) (redis.password)")
    }

    @Test(arguments: [
        ("changeme-changeme-changeme", "contains “changeme”"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "has fewer than 8 different"),
        ("k3j4h5g6f7d8s9a0q", "has 17 characters"),
    ])
    func aKeyThatCanBeGuessedIsNamed(_ key: String, _ weakness: String) async throws {
        let result = try await Examinee(#","keys":{"backend":{"secret":"\#(key)"}}"#).examine("--no-network")
        #expect(result["secrets"].status == "warning")
        #expect(result["secrets"].detail.contains("keys.backend \(weakness)"))
        #expect(!result.output.contains(key))
    }

    @Test("Pitfall 25: a damaged root is named where it is looked for, and what to do")
    func aDamagedRootIsNamed() async throws {
        let folder = try Examinee()
        let root = try folder.write("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", to: "root.pem")
        let result = try await Examinee(#","appStore":{"roots":["\#(root)"]}"#).examine("--no-network")
        #expect(result.exitCode == 1)
        #expect(result["trusted roots"].status == "wrong")
        #expect(result["trusted roots"].detail == "\(root): it is no certificate in DER or PEM")
        #expect(result["trusted roots"].remedies.first?.contains("leave appStore.roots out") == true)
    }

    @Test func aRootThatIsNotApplesIsSaidLoudly() async throws {
        let folder = try Examinee()
        let (certificate, _) = try await Self.certificate(
            in: folder, "-days", "3650", "-addext", "keyUsage=critical,keyCertSign")
        let result = try await Examinee(#","appStore":{"roots":["\#(certificate)"]}"#).examine("--no-network")
        #expect(result["trusted roots"].status == "warning")
        #expect(result["trusted roots"].detail.contains("NOT APPLE'S ROOT IS TRUSTED: CN=doctor.test"))
        let apples = try await Examinee().examine("--no-network")
        #expect(apples["trusted roots"].detail == "Apple Root CA - G3, until 2039-04-30")
    }

    @Test func aCertificateThatEndsSoonOrBelongsToAnotherKeyIsNamed() async throws {
        let folder = try Examinee()
        let (certificate, key) = try await Self.certificate(in: folder, "-days", "5")
        func settings(_ key: String) -> String {
            #","gateway":{"http":{"address":"127.0.0.1:0","certificateFile":"\#(certificate)","privateKeyFile":"\#(key)"}}"#
        }
        let soon = try await Examinee(settings(key)).examine("--no-network")
        #expect(soon["certificate, http"].status == "warning")
        #expect(soon["certificate, http"].detail.contains("in 4 days"))
        #expect(soon["certificate, http"].detail.contains("is signed by itself: Apple refuses it (TLS_ISSUE)"))

        let other = try Examinee()
        let (_, otherKey) = try await Self.certificate(in: other, "-days", "5")
        let mismatch = try await Examinee(settings(otherKey)).examine("--no-network")
        #expect(mismatch["certificate, http"].status == "wrong")
        #expect(mismatch["certificate, http"].detail.contains("key values mismatch"))
    }

    @Test func aCertificateThatHasEndedIsWrong() async throws {
        let folder = try Examinee()
        let now = WallClock.system.now()
        let name = CertificateTemplate.Name(commonName: "doctor.test", unit: "Tests")
        let signingKey = try SigningKey(generating: .p384)
        let ended = CertificateTemplate(
            subject: name, issuer: name, notBefore: now - .seconds(86_400 * 9), notAfter: now - .seconds(86_400 * 2),
            subjectPublicKeyInfo: try signingKey.subjectPublicKeyInfo(), extensions: [])
        let der = folder.folder.file("tls.der")
        try folder.write(try ended.signed(by: signingKey), to: "tls.der")
        let certificate = folder.folder.file("tls.pem")
        let converted = try await Command.run(
            "/usr/bin/openssl", ["x509", "-inform", "DER", "-in", der, "-out", certificate])
        #expect(converted.status == 0, "\(converted.output)")
        let key = try folder.write(try signingKey.pem(), to: "tls.key")
        let result = try await Examinee(
            #","gateway":{"http":{"certificateFile":"\#(certificate)","privateKeyFile":"\#(key)"}}"#
        ).examine("--no-network")
        #expect(result["certificate, http"].status == "wrong")
        #expect(
            result["certificate, http"].detail.contains("ended on \((now - .seconds(86_400 * 2)).rfc3339.prefix(10))"))
    }

    @Test func aSpoolThatCannotBeKeptIsWrong() async throws {
        let examinee = try Examinee()
        let file = try examinee.write("", to: "file")
        let result = try await Examinee(#","spool":{"folder":"\#(file)"}"#).examine("--no-network")
        #expect(result["spool"].status == "wrong")
        #expect(result["spool"].detail == "\(file) is not a folder")
        let inMemory = try await Examinee(#","spool":{"folder":"/dev/shm/holdfast-doctor"}"#).examine("--no-network")
        #expect(inMemory["spool"].detail == "/dev/shm lies on tmpfs, which does not keep what was acknowledged")
        let large = try await Examinee(#","spool":{"maxBytes":"4TiB"}"#).examine("--no-network")
        #expect(large["spool"].status == "warning")
        #expect(large["spool"].detail.contains("less than spool.maxBytes (4 TiB)"))
    }

    @Test func wordsThatCannotBeMeantAreUsageErrors() async throws {
        let examinee = try Examinee()
        let skip = try await examinee.text("--skip", "radis")
        #expect(skip.status == 2)
        #expect(skip.output.contains("there is no check radis; there are: settings; files;"))
        let strange = try await examinee.text("--environment", "xcode")
        #expect(strange.status == 2)
        let app = try await examinee.text("--app", "demi")
        #expect(app.output.contains("the settings have no app demi; there are: demo"))
    }

    @Test func settingsThatCannotBeReadAtAllAreOneWrongLine() async throws {
        let examinee = try Examinee()
        try examinee.write("{\n  \"apps\": {]\n}", to: "holdfast.json")
        let result = try await examinee.examine()
        #expect(result.exitCode == 1)
        #expect(result["settings"].status == "wrong")
        #expect(result["settings"].detail.hasPrefix("\(examinee.settings), line 2, column 12, at “]”"))
        let nowhere = try await Command.run(
            try ChildProcess.product("holdfast"), ["doctor", "--settings", "/nowhere/holdfast.json"])
        #expect(nowhere.status == 1)
        #expect(
            nowhere.output.contains("wrong        settings  open /nowhere/holdfast.json: No such file or directory"))
    }

    @Test(.timeLimit(.minutes(6))) func aPipeOrADeviceInPlaceOfAFileIsNamedAndKeepsNobodyWaiting() async throws {
        let folder = try TemporaryFolder("doctor-pipe")
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let program = try ChildProcess.product("holdfast")
        let itself = try await Command.run(program, ["doctor", "--settings", pipe])
        #expect(itself.status == 1)
        check(itself.output.contains("open \(pipe): it is a named pipe, not a regular file"), itself.output)
        for command in [
            ["settings"], ["gateway"], ["explain", "x"], ["quarantine", "list"], ["api", "transaction", "1"],
        ] {
            let result = try await Command.run(program, command + ["--settings", pipe])
            #expect(result.status == 2, "\(command)")
            check(result.output.contains("it is a named pipe, not a regular file"), "\(command): \(result.output)")
        }
        let examinee = try Examinee(
            #","redis":{"passwordFile":"\#(pipe)"},"keys":{"b":{"secretFile":"\#(pipe)"}}"#,
            #","appStore":{"roots":["\#(pipe)"]},"broker":{"passwordFile":"/dev/zero"}"#,
            #","gateway":{"http":{"certificateFile":"\#(pipe)","privateKeyFile":"/dev/tty"}}"#)
        let result = try await examinee.examine("--no-network")
        #expect(result["settings"].status == "wrong")
        let mistakes = result["settings"].remedies
        // Each once, and nothing else.
        let names = Set(mistakes.map { String($0.prefix { $0 != ":" }) })
        #expect(
            names == [
                "redis.passwordFile", "keys.b.secretFile", "appStore.roots", "broker.passwordFile",
                "gateway.http.certificateFile", "gateway.http.privateKeyFile",
            ])
        #expect(mistakes.count == 6)
        check(mistakes.allSatisfy { $0.hasSuffix(", not a regular file") }, "\(mistakes)")
        #expect(result["files"].status == "wrong")
        #expect(result["trusted roots"].status == "wrong")
    }

    /// A self-signed certificate and its key.
    static func certificate(in examinee: Examinee, _ options: String...) async throws -> (
        certificate: String, key: String
    ) {
        let (certificate, key) = (examinee.folder.file("tls.pem"), examinee.folder.file("tls.key"))
        let result = try await Command.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                "/CN=doctor.test", "-keyout", key, "-out", certificate,
            ] + options)
        guard result.status == 0 else { throw CommandError(result.output) }
        return (certificate, key)
    }
}
