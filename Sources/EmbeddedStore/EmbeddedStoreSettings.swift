/// Where the embedded store lies and how much it may take.
package struct EmbeddedStoreSettings: Sendable, Hashable {
    package var path: String
    /// Whether the file, and the folder in which it lies, are made when they are not there.
    package var makesFile = true
    /// What the file may take of the disk. Beyond it, writes are refused as by a Redis that is full; reads go on.
    package var maximumBytes: Int
    /// Commands that wait; one more is refused.
    package var commandsWaiting = 65_536
    /// Commands that share a transaction at most.
    package var commandsTogether = 512
    /// How often the file is asked whether another process has changed it, while somebody waits for a change.
    package var pollEvery = Duration.milliseconds(50)

    package init(path: String, maximumBytes: Int = 64 << 30) {
        self.path = path
        self.maximumBytes = maximumBytes
    }
}
