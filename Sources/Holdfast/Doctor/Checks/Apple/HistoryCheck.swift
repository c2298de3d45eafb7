import CacheTier
import Consumer
import Entitlements
import Redis
import Runtime

/// Whether all that Apple says it sent is with us, as consumers found when they looked last.
struct HistoryCheck: Check {
    let app: AppSettings
    let patient: Patient

    var name: String { "backfill, \(app.id)" }

    func examine() async -> Finding {
        guard app.serverAPIKey != nil else {
            return .notChecked("without a key nobody asks Apple (apps.\(app.id).serverAPI)")
        }
        guard patient.settings.backfill.isRegular else { return .notChecked("backfill.regular is off") }
        return await patient.withRedis { client throws(RedisError) in
            do throws(StoreError) {
                let all = try await BackfillStatus.all(
                    of: app, in: StoreEnvironment.allCases, settings: patient.settings, redis: client,
                    at: patient.clock.now())
                let findings = all.map(finding)
                return .of(findings, otherwise: findings.map(\.sentence).joined(separator: "; "))
            } catch {
                if case .redis(let cause) = error { throw cause }
                return .wrong("\(error)", "Is this Redis for Holdfast alone?")
            }
        }
    }

    private func finding(_ status: BackfillStatus) -> Finding {
        let scope = "\(status.environment.rawValue)"
        guard status.standing.check != nil else {
            return .warning(
                "\(scope): \(status.standing.sentence(at: status.now))",
                "A running consumer does it every backfill.every while Apple answers; its log says why not.")
        }
        guard status.worry != nil else { return .fine("\(scope): \(status.standing.sentence(at: status.now))") }
        return .warning(
            "\(scope): \(status.standing.sentence(at: status.now))",
            "What is missing goes through the line by itself: holdfast backfill --status, and the log of consumers.")
    }
}
