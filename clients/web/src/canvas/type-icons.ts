import type { IconName } from '../parts/icons.ts'

const ICONS: Readonly<Record<string, IconName>> = {
  ...{
    code: 'code',
    inject: 'bolt',
    delay: 'clock',
    trigger: 'clock',
    http: 'globe',
    'http-poll': 'retry',
    webhook: 'hook',
  },
  ...{ 'mqtt-in': 'antenna', 'mqtt-out': 'antenna', lines: 'rows', camera: 'camera', microphone: 'mic' },
}

/** A type is an icon; colour is free for state. */
export const iconOf = (type: string): IconName => ICONS[type] ?? 'box'
