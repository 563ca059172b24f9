import { lazy } from 'react'
import { Route, Switch } from 'wouter'
import { Empty } from '../parts/Empty.tsx'
import { Page } from './Page.tsx'

// One line a page: each is a chunk of its own, loaded when it is first opened.
const Home = lazy(() => import('../home/Home.tsx'))
const Flows = lazy(() => import('../flows/Flows.tsx'))
const Flow = lazy(() => import('../flows/Flow.tsx'))
const Messages = lazy(() => import('../messages/Messages.tsx'))
const Run = lazy(() => import('../runs/Run.tsx'))
const Runs = lazy(() => import('../runs/Runs.tsx'))
const More = lazy(() => import('./More.tsx'))

export function Pages() {
  return (
    <Switch>
      <Route path="/" component={Home} />
      <Route path="/flows" component={Flows} />
      <Route path="/flows/:flow/:tab?" component={Flow} />
      <Route path="/messages" component={Messages} />
      <Route path="/runs" component={Runs} />
      <Route path="/runs/:id" component={Run} />
      <Route path="/more" component={More} />
      <Route>
        <Page crumbs={['Not found']}>
          <Empty icon="search" title="Nothing is here">
            <p>The address names no page of this app. Follow one of the links at the side.</p>
          </Empty>
        </Page>
      </Route>
    </Switch>
  )
}
