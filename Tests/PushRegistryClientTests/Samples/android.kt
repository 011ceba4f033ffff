package android.os

/** Stands for Android's class. */
object Build {
    const val MODEL = "Pixel 10"

    object VERSION {
        const val RELEASE = "17"
    }
}
