import type { OpenTransport } from '../transport.ts'

/** `#client/transport` for the compiler, whatever the platform: types of Node are not needed in a project for browsers. */
export declare const openTransport: OpenTransport
