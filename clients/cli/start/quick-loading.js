// The load hooks of a process or thread.
import './packed-packages.js'
import './stripped-sources.js'
