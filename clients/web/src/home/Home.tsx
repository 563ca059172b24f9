import { Page } from '../shell/Page.tsx'

export default function Home() {
  return <Page crumbs={['Home']}>{null}</Page>
}
