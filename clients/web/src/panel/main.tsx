/** @jsxImportSource preact */
import '../../look/tokens.css'
import '../../look/panel.css'
import { render } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { API_URL } from '../engine/client.ts'
import { Board } from './Board.tsx'
import { Pairing } from './Pairing.tsx'

/** Kept in the browser of the screen: nobody is there to sign in again. */
const KEY = 'panel token'

/** A screen on a wall: it is paired once, and then shows what its panel says. */
function Screen() {
  const [token, setToken] = useState(() => localStorage.getItem(KEY))
  const take = useCallback((taken: string): void => {
    localStorage.setItem(KEY, taken)
    setToken(taken)
  }, [])
  const end = useCallback((): void => {
    localStorage.removeItem(KEY)
    setToken(null)
  }, [])
  return token === null ? (
    <Pairing url={API_URL} onToken={take} />
  ) : (
    <Board key={token} url={API_URL} token={token} onEnded={end} />
  )
}

render(<Screen />, document.getElementById('root')!)
