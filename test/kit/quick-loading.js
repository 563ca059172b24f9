// Loaded before each test file, and in the threads that it starts: what loading a few hundred sources costs is paid once for all files.
import { enableCompileCache } from 'node:module'
import '../../clients/cli/start/quick-loading.js'

enableCompileCache(new URL('../../node_modules/.cache/tests', import.meta.url).pathname)
