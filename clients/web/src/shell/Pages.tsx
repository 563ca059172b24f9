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
const Artifacts = lazy(() => import('../artifacts/Artifacts.tsx'))
const Compare = lazy(() => import('../runs/Compare.tsx'))
const Dashboards = lazy(() => import('../dashboards/Dashboards.tsx'))
const Events = lazy(() => import('../events/Events.tsx'))
const Explorer = lazy(() => import('../explorer/Explorer.tsx'))
const Settings = lazy(() => import('../settings/Settings.tsx'))
const ToMessage = lazy(() => import('../messages/ToMessage.tsx'))
const Workers = lazy(() => import('../workers/Workers.tsx'))
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
      <Route path="/artifacts" component={Artifacts} />
      <Route path="/compare" component={Compare} />
      <Route path="/dashboards" component={Dashboards} />
      <Route path="/events" component={Events} />
      <Route path="/explorer" component={Explorer} />
      <Route path="/settings/:part?" component={Settings} />
      <Route path="/messages/:name" component={ToMessage} />
      <Route path="/workers" component={Workers} />
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
