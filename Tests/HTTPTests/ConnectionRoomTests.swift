import HTTP
import Testing

@Suite struct ConnectionRoomTests {
    @Test(
        "Invariant 10: connections leave files for the disk, the broker and the operators",
        arguments: [64, 256, 1024, 20_000])
    func connectionsLeaveFilesForTheRest(files: Int) {
        let room = ConnectionRoom(files: files)
        #expect(room.open + 2 * room.operations <= files - min(256, files / 4))
        #expect(room.open >= files / 2)
        #expect(room.operations >= 1)
    }

    @Test func aListenerKeepsToItsRoomAndToItsSettings() {
        var settings = HTTPServerSettings()
        settings.connections = 10_000
        let wasLowered = settings.limitConnections(to: 640)
        #expect(wasLowered)
        #expect(settings.connections == 640)
        let wasLoweredAgain = settings.limitConnections(to: 700)
        #expect(!wasLoweredAgain)
        #expect(settings.connections == 640)
    }
}
