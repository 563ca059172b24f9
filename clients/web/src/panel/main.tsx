/** @jsxImportSource preact */
import '../../look/tokens.css'
import '../../look/components.css'
import '../../look/panel.css'
import { render } from 'preact'

render(<p>No screen yet.</p>, document.getElementById('root')!)
