// Runs the Kotlin samples of the pages about topics, messages and notifications against a scripted registry.
import com.sun.net.httpserver.HttpServer
import org.json.JSONObject
import java.net.InetSocketAddress
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine

class Preferences : SharedPreferences, SharedPreferences.Editor {
    private val values = mutableMapOf<String, String?>()
    override fun getString(name: String, fallback: String?) = values[name] ?: fallback
    override fun edit() = this
    override fun putString(name: String, value: String?) = apply { values[name] = value }
    override fun apply() {}
}

val shown = mutableListOf<String>()
fun show(message: RemoteMessage) { shown.add(message.data["title"] ?: "?") }
fun show(title: String?) { shown.add(title ?: "?") }

object SeenValues {
    var epoch = ""
    var number = 0L
}

class Seen(context: Context) {
    val epoch get() = SeenValues.epoch
    val number get() = SeenValues.number
    val installId = "i"
    val deliveryKey = "key"
    fun set(epoch: String, number: Long) { SeenValues.epoch = epoch; SeenValues.number = number }
}

var registry = ""
val answers = mutableListOf<Pair<Int, String>>()
val queries = mutableListOf<String>()

fun serve(): HttpServer {
    val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
    server.createContext("/") { exchange ->
        check(exchange.requestHeaders.getFirst("Authorization") == "Bearer key")
        queries.add(exchange.requestURI.query)
        val (status, body) = answers.removeAt(0)
        val bytes = body.toByteArray()
        exchange.sendResponseHeaders(status, bytes.size.toLong())
        exchange.responseBody.use { it.write(bytes) }
    }
    server.start()
    return server
}

fun page(epoch: String, numbers: IntRange, next: Int? = null) = 200 to
    """{"epoch": "$epoch", "next": $next, "notifications": [""" +
    numbers.joinToString { """{"number": $it, "payload": {"title": "$it"}}""" } + "]}"

fun work(vararg script: Pair<Int, String>): ListenableWorker.Result {
    queries.clear(); shown.clear(); answers.clear(); answers.addAll(script)
    var result: ListenableWorker.Result? = null
    val worker = FetchNotifications(context, WorkerParameters())
    suspend { worker.doWork() }.startCoroutine(Continuation(EmptyCoroutineContext) { result = it.getOrThrow() })
    return result ?: error("the worker waits")
}

fun main() {
    val pending = PendingTopics(Preferences())
    pending.choose("news", true)
    pending.choose("offers", false)
    val sent = pending.all()
    pending.choose("news", false)
    pending.acknowledge(sent)
    check(sent == mapOf("news" to true, "offers" to false) && pending.all() == mapOf("news" to false))
    println("ok a choice that was changed meanwhile stays")

    Messaging().onMessageReceived(RemoteMessage(mapOf("title" to "Sale", "receipt" to "AQ")))
    val receipt = WorkManager.enqueued.removeAt(0)
    val item = JSONObject(receipt.data.getValue("body")).getJSONArray("receipts").getJSONObject(0)
    check(receipt.worker == "ReceiptWorker" && item.getString("receipt") == "AQ")
    check(item.getString("event") == "delivered" && shown == listOf("Sale"))
    println("ok a delivery is reported")

    fun push(number: Int, previous: Int, epoch: String = "a") {
        shown.clear()
        val data = mapOf("number" to "$number", "previous" to "$previous", "epoch" to epoch, "title" to "push $number")
        PushService().onMessageReceived(RemoteMessage(data))
    }
    push(1, 0)
    check(shown == listOf("push 1"))
    push(1, 0)
    check(shown.isEmpty() && WorkManager.enqueued.isEmpty())
    push(4, 3)
    check(shown.isEmpty() && WorkManager.enqueued.map { it.worker } == listOf("FetchNotifications"))
    println("ok a missing number starts a worker")

    val server = serve()
    registry = "http://127.0.0.1:${server.address.port}"
    check(work(page("a", 2..3, 3), page("a", 4..4)) == ListenableWorker.Result.SUCCESS)
    check(shown == listOf("2", "3", "4") && queries == listOf("after=1&epoch=a", "after=3&epoch=a"))
    check(work(410 to """{"epoch": "b", "first": 6, "last": 7}""", page("b", 6..7)) == ListenableWorker.Result.SUCCESS)
    check(shown == listOf("6", "7") && SeenValues.epoch == "b" && SeenValues.number == 7L)
    check(work(503 to "{}") == ListenableWorker.Result.RETRY && work(401 to "{}") == ListenableWorker.Result.FAILURE)
    server.stop(0)
    println("ok the worker shows what was missed")

    AddressService().onRegistered("fid")
    AddressService().onNewToken("fid:token")
    check(WorkManager.enqueued.takeLast(2).map { it.worker } == listOf("RegistrationWorker", "RegistrationWorker"))
    check(WorkManager.enqueued.takeLast(2).map { it.data["token"] } == listOf("fid", "fid:token"))
    println("ok installation ids and tokens are registered in one way")
    println("5 checks passed")
}
