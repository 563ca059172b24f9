import { Client } from '../../../client/index.ts'

/** Where the engine is: the page's own address, or what the build was given as VITE_API_URL. */
declare const __API_URL__: string
export const API_URL: string = __API_URL__ || location.origin

/** Everything that the app does goes through here: without a token, so that the session of the browser counts. */
export const client = new Client({ url: API_URL })
