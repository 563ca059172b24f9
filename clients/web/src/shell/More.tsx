import { Link } from 'wouter'
import { Icon } from '../parts/Icon.tsx'
import { Page } from './Page.tsx'
import { PLACES, SELDOM } from './places.ts'

/** Where the bar at the bottom of a phone has no room for. */
export default function More() {
  return (
    <Page crumbs={['More']}>
      <ul className="phone-list">
        {[...PLACES, ...SELDOM].map(({ path, name, icon }) => (
          <li key={path}>
            <Link className="row" href={path}>
              <Icon name={icon} />
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  )
}
