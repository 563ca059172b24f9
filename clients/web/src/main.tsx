import '../look/tokens.css'
import '../look/components.css'
import '../look/app.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { queries } from './engine/queries.ts'
import { askWhoIAm } from './engine/session.ts'
import { App } from './shell/App.tsx'
import { applyTheme } from './shell/theme.ts'

applyTheme()
createRoot(document.getElementById('root')!).render(
  <QueryClientProvider client={queries}>
    <App />
  </QueryClientProvider>,
)
void askWhoIAm()
