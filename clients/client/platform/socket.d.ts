import type { OpenSocket } from '../socket.ts'

/** `#client/socket` for the compiler, whatever the platform. */
export declare const openSocket: OpenSocket
