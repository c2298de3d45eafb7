import AppStore
import JSON
import Runtime
import Time

@testable import Gateway

/// Signs notifications as Apple does, under a root of its own.
struct Sender {
    let authority: CertificateAuthority

    static let trusted = Result { try Sender() }
    static let stranger = Result { try Sender() }

    private init() throws { authority = try CertificateAuthority(makingAt: WallClock.system.now()) }

    /// Trusts this sender's root only.
    var judge: IntakeJudge {
        get throws { NotificationVerifier(JWSVerifier(roots: try TrustedRoots(der: [authority.rootDER]))).judge }
    }

    func body(
        _ uuid: String, environment: String = "Sandbox", type: String = "TEST", padding: Int = 0,
        signedDate: Timestamp = WallClock.system.now()
    ) throws -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("notificationType", type)
        json.member("notificationUUID", uuid)
        json.member("version", "2.0")
        json.member("signedDate", signedDate.milliseconds)
        json.member("padding", String(repeating: "x", count: padding))
        json.object("data") { data in
            data.member("bundleId", "com.example.demo")
            data.member("environment", environment)
        }
        json.endObject()
        return SignedBody.body(signedPayload: try authority.sign(json.bytes))
    }
}
