import PushRegistry
import Testing

@testable import RegistryStore

@Suite("The cubes of a process have a limit of memory, and the latest answer stays")
struct CubeCacheTests {
    private let cube = AppCube(identity: "server", version: 0)
    private let apps = (1...3).map { AppNumber($0) }

    @Test func appThatWasNotUsedForLongest_makesRoom() {
        let cache = CubeCache(bytesMax: cube.bytes * 2)
        for app in apps.prefix(2) { cache.store(cube, of: app, replacing: nil) }
        #expect(cache.cube(of: apps[0]) != nil)
        cache.store(cube, of: apps[2], replacing: nil)
        #expect(apps.map { cache.cube(of: $0) != nil } == [true, false, true])
        #expect(cache.bytes == cube.bytes * 2)
    }

    @Test func cubeBeyondTheLimit_isNotKept_norWhatItReplaces() {
        let cache = CubeCache(bytesMax: cube.bytes)
        cache.store(cube, of: apps[0], replacing: nil)
        var larger = cube
        larger.add(
            [AppCube.Row(cell: 0, counts: AppCube.Counts(installations: 1))], [], droppingBefore: 0, to: 0)
        cache.store(larger, of: apps[0], replacing: cache.cube(of: apps[0]))
        #expect(cache.cube(of: apps[0]) == nil && cache.bytes == 0)
    }

    /// Two queries begin with the same cube. The one that ends last may have the older snapshot.
    @Test func lateAnswer_doesNotReplaceANewerCube() {
        let cache = CubeCache()
        cache.store(cube, of: apps[0], replacing: nil)
        let old = cache.cube(of: apps[0])
        var (first, second) = (cube, cube)
        (first.since, second.since) = (7, 6)
        cache.store(first, of: apps[0], replacing: old)
        cache.store(second, of: apps[0], replacing: old)
        #expect(cache.cube(of: apps[0])?.since == 7)
    }
}
