// Stands for the classes of Android, Firebase and WorkManager that the samples use.
open class Context

val context = Context()

interface SharedPreferences {
    fun getString(name: String, fallback: String?): String?
    fun edit(): Editor

    interface Editor {
        fun putString(name: String, value: String?): Editor
        fun apply()
    }
}

class RemoteMessage(val data: Map<String, String>)

open class FirebaseMessagingService : Context() {
    open fun onRegistered(installationId: String) {}
    open fun onNewToken(token: String) {}
    open fun onMessageReceived(message: RemoteMessage) {}
}

class WorkerParameters
class ReceiptWorker
class RegistrationWorker
enum class NetworkType { CONNECTED }
enum class ExistingWorkPolicy { REPLACE }
class Constraints(val requiredNetworkType: NetworkType)
class WorkRequest(val worker: String, val data: Map<String, String>)

fun workDataOf(vararg pairs: Pair<String, String>) = mapOf(*pairs)

class WorkRequestBuilder(private val worker: String) {
    private var data = emptyMap<String, String>()
    fun setInputData(data: Map<String, String>) = apply { this.data = data }
    fun setConstraints(constraints: Constraints) = apply { check(constraints.requiredNetworkType.ordinal == 0) }
    fun build() = WorkRequest(worker, data)
}

inline fun <reified Worker : Any> OneTimeWorkRequestBuilder() = WorkRequestBuilder(Worker::class.java.simpleName)

class WorkManager {
    fun enqueue(request: WorkRequest) { enqueued.add(request) }
    fun enqueueUniqueWork(name: String, policy: ExistingWorkPolicy, request: WorkRequest) {
        check(name.isNotEmpty() && policy == ExistingWorkPolicy.REPLACE)
        enqueued.add(request)
    }

    companion object {
        val enqueued = mutableListOf<WorkRequest>()
        fun getInstance(context: Context) = WorkManager()
    }
}

open class ListenableWorker {
    enum class Result {
        SUCCESS, FAILURE, RETRY;

        companion object {
            fun success() = SUCCESS
            fun failure() = FAILURE
            fun retry() = RETRY
        }
    }
}

abstract class CoroutineWorker(val applicationContext: Context, parameters: WorkerParameters) : ListenableWorker() {
    abstract suspend fun doWork(): Result
}

object Dispatchers { val IO = Unit }

suspend fun <Value> withContext(context: Unit, block: suspend Unit.() -> Value): Value = block(context)
