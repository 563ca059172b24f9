/** The theme follows the system until the switch is used; kept in the browser. */
const KEY = 'theme'
const THEMES = ['as the system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

export function themeOf(): Theme {
  const kept = localStorage.getItem(KEY)
  return THEMES.find(theme => theme === kept) ?? 'as the system'
}

export function applyTheme(): void {
  const theme = themeOf()
  if (theme === 'as the system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function nextTheme(): Theme {
  const next = THEMES[(THEMES.indexOf(themeOf()) + 1) % THEMES.length]!
  localStorage.setItem(KEY, next)
  applyTheme()
  return next
}
