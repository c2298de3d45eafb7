package import AppStore
internal import Time

extension NotificationVerifier {
    /// Judges by the signature and the chain of the envelope.
    package var judge: IntakeJudge {
        { body, now in
            do throws(VerificationFailure) {
                let intake = try intake(body, now: now)
                return .accept(
                    environment: intake.environment, notificationUUID: intake.notificationUUID,
                    notificationType: intake.notificationType)
            } catch {
                switch error.disposition {
                case .refuse:
                    return .refuse(
                        reason: error.code.rawValue, detail: error.sentence, isMalformed: error.code == .malformed)
                case .quarantine: return .quarantine(reason: error.code.rawValue, detail: error.sentence)
                case .retryLater: return .later(detail: error.sentence)
                }
            }
        }
    }
}
