import Broker

/// Whether somebody applies what comes in.
struct ConsumersCheck: Check {
    let name = "rabbitmq consumers"
    let patient: Patient

    func examine() async -> Finding {
        let apply = patient.settings.broker.names.apply
        return await patient.withBroker { broker throws(BrokerError) in
            guard let state = try await broker.queueStates().first(where: { $0.name == apply }),
                state.messages != nil
            else { return .notChecked("there is no \(apply) yet") }
            guard state.consumers > 0 else {
                return .warning(
                    "nobody takes from \(apply): notifications wait there",
                    "holdfast consumer --settings \(patient.path)")
            }
            return .fine("\(state.consumers) \(state.consumers == 1 ? "takes" : "take") from \(apply)")
        }
    }
}
